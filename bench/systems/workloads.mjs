// What is asked of every system, under one name each. A system that has no such thing, or whose makers mean something else
// by it, leaves the name out of its calls, and the reason is in bench/README.md.
//
//   steps0 steps1 steps3 steps20   a synchronous run with so many steps in a row, each of which returns its input
//   parallel                       a synchronous run of a hundred such steps at once
//   start                          a run without steps is started and not waited for; answered when it is on disk
//   startCounter                   a run that waits for messages, under the id counter-$i
//   signal update query            a message to counter-$r: taken, taken and answered, answered from its state

export const STEPS = [0, 1, 3, 20];
export const PARALLEL = 100;
export const INPUT = { n: 7 };

/** The calls of a system whose runs are behind `POST /<workload>` of a thin HTTP front. */
export function frontCalls(port, workloads) {
  const answers = {
    start: '"id":',
    startCounter: '"id":',
    signal: '"ok":',
    update: '"total":',
    query: '"total":',
  };
  const messages = ['startCounter', 'signal', 'update', 'query'];
  return Object.fromEntries(
    workloads.map((workload) => [
      workload,
      {
        port,
        path: messages.includes(workload)
          ? `/${workload}/counter-${workload === 'startCounter' ? '$i' : '$r'}`
          : `/${workload}`,
        body: JSON.stringify(INPUT),
        expect: answers[workload] ?? JSON.stringify(INPUT),
      },
    ]),
  );
}

export const STEP_WORKLOADS = STEPS.map((steps) => `steps${steps}`);
