// How jemalloc is to keep this process small; see CMakeLists.txt. It looks for a symbol of this
// name before main() begins.

// A process is one loop and little beside it, so one arena is enough, and what was freed goes back
// to the system within a second or two.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
