// How jemalloc is to keep this process small; see CMakeLists.txt. It looks for a symbol of this
// name before main() begins.

// A process is one loop and little beside it. So one arena is enough, no thread needs a stock of
// its own, and what was freed goes back to the system within a second, by a thread that sleeps
// while there is nothing.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:1,tcache:false,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
