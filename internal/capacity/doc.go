// Package capacity decides which instances of EC2-type fleets there are, and on which machines. It is pure: Reconcile
// compares the desired number of instances of each location of a fleet with those that exist, and returns what has to
// be done.
//
// # Choice of the machine
//
// A machine can have an instance if it is available at the location, has the operating system of the build, and has no
// instance with the same fixed ports. An instance fits if the machine has its CPUs and memory free. Of the machines
// where it fits, those are preferred whose last launch of this build did not fail, then those with the fewest free
// CPUs, so that whole machines stay free, then those that have the build. A machine without instances takes one of any
// type, if it fits nowhere: so a small machine can run any fleet.
//
// # Choice of the instances that end
//
// Idle instances end first. Only if none is idle, instances end whose game sessions are all unprotected. Instances with
// a protected game session are never ended to reduce capacity.
package capacity
