#include "supervisor/ctl/command_line.h"

int main(int argc, char** argv) {
  return fireboss::ctl::run_command_line(argc, argv, "fireboss " FIREBOSS_VERSION);
}
