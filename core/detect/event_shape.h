#pragma once
// The name of what happened, from the cells of an event, and the line an operator reads.
//
// Cells weigh by how much traffic is too much or missing, so that a stray pair does not rename an
// incident. Pure functions.

#include <string>
#include <vector>

#include "core/detect/report.h"

namespace outlierd::detect {

struct EventFacts {
  const std::vector<EventCell>* cells = nullptr;
  std::size_t scored_cells = 0;  // of the network, when it opened
  bool lasting = false;          // the level rule accepted its strongest cell, or it lasted
};

struct NamedShape {
  Shape shape = Shape::kSpike;
  bool up = true;
  int origin = -1, destination = -1;  // what it turns around, where there is such a node
  int other_origin = -1;              // of a shift: where the traffic went
};

NamedShape name_shape(const EventFacts& facts, int nodes);
std::string summary_of(const NamedShape& named, const std::vector<EventCell>& cells,
                       const Network& network);

}  // namespace outlierd::detect
