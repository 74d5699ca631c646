#pragma once

#include "dsf/use/interchange.h"

namespace dsf {

/// The line about the model that dsf export wrote or dsf import read.
void print_summary(const InterchangeSummary& summary);

}  // namespace dsf
