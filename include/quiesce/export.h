#ifndef QUIESCE_EXPORT_H_
#define QUIESCE_EXPORT_H_

// Public classes and functions carry this mark; everything else in the library is hidden.
#define QUIESCE_EXPORT __attribute__((visibility("default")))

#endif  // QUIESCE_EXPORT_H_
