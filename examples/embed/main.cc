// Uses an installed dsf as a library.

#include <iostream>

#include "dsf/base/version.h"

int main() {
  std::cout << "dsf " << dsf::version() << " (" << dsf::build_type() << ", " << dsf::compiler()
            << ", commit " << dsf::git_commit() << ")\n";
  return 0;
}
