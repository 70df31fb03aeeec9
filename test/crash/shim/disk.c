/*
 * Stands between a process and its disk (LD_PRELOAD), for the files below one folder.
 *
 * It writes down every change and every sync in the order in which they were made, so that the disk as a power cut would
 * have left it can be made up afterwards for any instant (../power.ts). It can also fail a chosen call, or end the
 * process at it, and show the process another time of day.
 *
 *   DISK_SHIM_DIR        the folder; nothing else is touched
 *   DISK_SHIM_JOURNAL    where changes are written down; none when absent
 *   DISK_SHIM_DROP_SYNC  files whose name ends like this are never synced, as far as the journal knows
 *   DISK_SHIM_FAULT      call:suffix:nth:what[:sticky], for example sync:-wal:3:EIO or write:.db:7:kill
 *                        call is write, sync or truncate; what is EIO, ENOSPC, kill, or torn (half of it is written, then kill)
 *   DISK_SHIM_ARMED      calls count, and a sticky fault goes on, only while this file is there
 *   DISK_SHIM_REACHED    gets a line whenever the fault has struck
 *   DISK_SHIM_CLOCK      a file with milliseconds by which the time of day is off
 *
 * A record of the journal: call, length of the path, offset, length, instant (ns), path, data; little endian.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_FDS 4096
#define EXPORT __attribute__((visibility("default")))

enum call { WRITE = 1, TRUNCATE = 2, SYNC = 3, CREATE = 4, RENAME = 5, UNLINK = 6, SYNC_FOLDER = 7 };

static char *paths[MAX_FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *folder, *drop_sync, *armed, *reached, *clock_file;
static size_t folder_length;
static int journal = -1;

static int fault_call, fault_errno, fault_is_torn, fault_is_sticky;
static char fault_suffix[64];
static long fault_nth, fault_count;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
static int (*real_clock_gettime)(clockid_t, struct timespec *);

static void parse_fault(const char *text) {
  char call[16], what[16], rest[16] = "";
  if (sscanf(text, "%15[^:]:%63[^:]:%ld:%15[^:]:%15s", call, fault_suffix, &fault_nth, what, rest) < 4) {
    fprintf(stderr, "disk shim: cannot read DISK_SHIM_FAULT=%s\n", text);
    abort();
  }
  fault_call = !strcmp(call, "write") ? WRITE : !strcmp(call, "sync") ? SYNC : TRUNCATE;
  fault_errno = !strcmp(what, "EIO") ? EIO : !strcmp(what, "ENOSPC") ? ENOSPC : 0;
  fault_is_torn = !strcmp(what, "torn");
  fault_is_sticky = !strcmp(rest, "sticky");
}

static void prepare(void) {
  real_open = dlsym(RTLD_NEXT, "open64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_pwritev = dlsym(RTLD_NEXT, "pwritev64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  folder = getenv("DISK_SHIM_DIR");
  folder_length = folder ? strlen(folder) : 0;
  drop_sync = getenv("DISK_SHIM_DROP_SYNC");
  armed = getenv("DISK_SHIM_ARMED");
  reached = getenv("DISK_SHIM_REACHED");
  clock_file = getenv("DISK_SHIM_CLOCK");
  const char *file = getenv("DISK_SHIM_JOURNAL");
  if (file) journal = real_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const char *fault = getenv("DISK_SHIM_FAULT");
  if (fault) parse_fault(fault);
}

static int is_inside(const char *path) {
  return folder && !strncmp(path, folder, folder_length) && (path[folder_length] == '/' || !path[folder_length]);
}

static int ends_with(const char *path, const char *suffix) {
  size_t a = strlen(path), b = strlen(suffix);
  return a >= b && !strcmp(path + a - b, suffix);
}

static const char *path_of(int fd) { return fd >= 0 && fd < MAX_FDS ? paths[fd] : NULL; }

static uint64_t monotonic_ns(void) {
  struct timespec now;
  real_clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Called with the lock held, so that the journal has the order in which things were done. */
static void note(enum call call, const char *path, uint64_t offset, const void *data, uint64_t length, uint64_t at) {
  if (journal < 0) return;
  const char *name = path + folder_length + (path[folder_length] == '/');
  struct __attribute__((packed)) { uint32_t call, path_length; uint64_t offset, length, at; } head = {
      call, (uint32_t)strlen(name), offset, length, at};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, head.path_length}, {(void *)data, data ? length : 0}};
  size_t whole = sizeof head + head.path_length + (data ? length : 0);
  if (real_writev(journal, parts, 3) != (ssize_t)whole) abort();
}

static void tell(const char *path) {
  if (!reached) return;
  char line[512];
  int length = snprintf(line, sizeof line, "%ld %s\n", fault_count, path);
  int fd = real_open(reached, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (real_write(fd, line, length) != length) abort();
  real_close(fd);
}

/* Whether the call fails now, with errno set; it may also be the last thing that the process does. */
static int strikes(enum call call, const char *path) {
  if (call != (enum call)fault_call || !ends_with(path, fault_suffix)) return 0;
  if (armed && access(armed, F_OK)) return 0;
  fault_count++;
  if (fault_is_sticky ? fault_count < fault_nth : fault_count != fault_nth) return 0;
  tell(path);
  if (!fault_errno) return -1;
  errno = fault_errno;
  return 1;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static ssize_t put(int fd, const char *path, const void *data, size_t length, off_t offset) {
  pthread_mutex_lock(&lock);
  int strike = strikes(WRITE, path);
  if (strike < 0) {
    if (fault_is_torn) real_pwrite(fd, data, length / 2, offset);
    die();
  }
  ssize_t done = -1;
  if (!strike) {
    uint64_t at = monotonic_ns();
    done = real_pwrite(fd, data, length, offset);
    if (done > 0) note(WRITE, path, (uint64_t)offset, data, (uint64_t)done, at);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return done;
}

static int sync_file(int fd, const char *path, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  int strike = strikes(SYNC, path);
  if (strike < 0) die();
  int result = -1;
  if (!strike) {
    uint64_t at = monotonic_ns();
    result = real(fd);
    struct stat about;
    int is_folder = !fstat(fd, &about) && S_ISDIR(about.st_mode);
    int is_dropped = drop_sync && ends_with(path, drop_sync);
    if (!result && !is_dropped) note(is_folder ? SYNC_FOLDER : SYNC, path, 0, NULL, 0, at);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

static int cut(int fd, const char *path, off_t length) {
  pthread_mutex_lock(&lock);
  int strike = strikes(TRUNCATE, path);
  if (strike < 0) die();
  int result = -1;
  if (!strike) {
    uint64_t at = monotonic_ns();
    result = real_ftruncate(fd, length);
    if (!result) note(TRUNCATE, path, (uint64_t)length, NULL, 0, at);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

static int open_file(const char *path, int flags, mode_t mode) {
  pthread_once(&once, prepare);
  if (!is_inside(path)) return real_open(path, flags, mode);
  pthread_mutex_lock(&lock);
  uint64_t at = monotonic_ns();
  int is_new = (flags & O_CREAT) && access(path, F_OK);
  int fd = real_open(path, flags, mode);
  if (fd >= MAX_FDS) abort();
  if (fd >= 0) {
    paths[fd] = strdup(path);
    if (is_new) note(CREATE, path, 0, NULL, 0, at);
    else if (flags & O_TRUNC) note(TRUNCATE, path, 0, NULL, 0, at);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return fd;
}

EXPORT int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}

EXPORT int close(int fd) {
  pthread_once(&once, prepare);
  if (path_of(fd)) {
    pthread_mutex_lock(&lock);
    free(paths[fd]);
    paths[fd] = NULL;
    pthread_mutex_unlock(&lock);
  }
  return real_close(fd);
}

EXPORT ssize_t write(int fd, const void *data, size_t length) {
  pthread_once(&once, prepare);
  const char *path = path_of(fd);
  if (!path) return real_write(fd, data, length);
  off_t at = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  ssize_t done = put(fd, path, data, length, at);
  if (done > 0) lseek(fd, at + done, SEEK_SET);
  return done;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  pthread_once(&once, prepare);
  const char *path = path_of(fd);
  return path ? put(fd, path, data, length, offset) : real_pwrite(fd, data, length, offset);
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
  return pwrite(fd, data, length, offset);
}

/* Nobody here writes to the folder in several parts; should that change, it must not go unseen. */
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
  pthread_once(&once, prepare);
  if (path_of(fd)) abort();
  return real_writev(fd, parts, count);
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  pthread_once(&once, prepare);
  if (path_of(fd)) abort();
  return real_pwritev(fd, parts, count, offset);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev(fd, parts, count, offset);
}

EXPORT int ftruncate(int fd, off_t length) {
  pthread_once(&once, prepare);
  const char *path = path_of(fd);
  return path ? cut(fd, path, length) : real_ftruncate(fd, length);
}

EXPORT int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

EXPORT int fsync(int fd) {
  pthread_once(&once, prepare);
  const char *path = path_of(fd);
  return path ? sync_file(fd, path, real_fsync) : real_fsync(fd);
}

EXPORT int fdatasync(int fd) {
  pthread_once(&once, prepare);
  const char *path = path_of(fd);
  return path ? sync_file(fd, path, real_fdatasync) : real_fdatasync(fd);
}

EXPORT int rename(const char *from, const char *to) {
  pthread_once(&once, prepare);
  if (!is_inside(from)) return real_rename(from, to);
  pthread_mutex_lock(&lock);
  uint64_t at = monotonic_ns();
  int result = real_rename(from, to);
  if (!result) {
    const char *name = to + folder_length + 1;
    note(RENAME, from, 0, name, strlen(name), at);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

EXPORT int unlink(const char *path) {
  pthread_once(&once, prepare);
  if (!is_inside(path)) return real_unlink(path);
  pthread_mutex_lock(&lock);
  uint64_t at = monotonic_ns();
  int result = real_unlink(path);
  if (!result) note(UNLINK, path, 0, NULL, 0, at);
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return result;
}

static int64_t clock_offset_ms(void) {
  if (!clock_file) return 0;
  int fd = real_open(clock_file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[32] = "";
  ssize_t length = read(fd, text, sizeof text - 1);
  real_close(fd);
  return length > 0 ? strtoll(text, NULL, 10) : 0;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *now) {
  pthread_once(&once, prepare);
  int result = real_clock_gettime(id, now);
  if (result || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return result;
  int64_t offset = clock_offset_ms();
  int64_t ns = now->tv_nsec + offset % 1000 * 1000000;
  now->tv_sec += offset / 1000 + (ns < 0 ? -1 : ns / 1000000000);
  now->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
  return 0;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  int result = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return result;
}

EXPORT time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out) *out = exact.tv_sec;
  return exact.tv_sec;
}
