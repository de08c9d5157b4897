// control/spare_memory.h
//
// Gives memory that the process no longer uses back to the system. The C library keeps what a burst
// of work has freed, in pieces between what is still in use; a controller that was busy once would
// stay as large as it was then. Runs on the control loop for as long as the process; one for each
// process.
#pragma once

#include "base/result.h"
#include "net/task.h"

namespace mainspring::control {

// Until cancelled. After work, never for its own sake: at rest it does nothing but look at the
// clock of the processor every other second.
net::Task<Result<void>> give_back_spare_memory();

}  // namespace mainspring::control
