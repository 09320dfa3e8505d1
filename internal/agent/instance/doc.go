// Package instance runs the instances of a machine: each is a compute of a fleet with a directory of its own, which has
// the files of the fleet's build, and an agent of package agent. It imports nothing of the service.
//
// The service sends the instances that it wants, all of them each time. Each instance has a goroutine that gets it from
// nothing to running, and then to nothing again; it compares what is wanted with what it has, so that a restart of the
// service or the agent repeats nothing that is done.
//
// The data directory has
//
//	b/KEY/archive     the zip of a build that is being prepared; archive~ is incomplete
//	b/KEY/tree        the files of the build, after its installer has run
//	b/KEY/ready.json  the build is complete
//	b/KEY/install.log the newest output of its installer
//	i/ID/game-N       the files of an instance; a new build in place of the first one has the next N
//	i/ID/instance.json which of these the instance runs; it is complete
//	i/ID/p            the game servers, see package supervisor
//
// # Files
//
// Builds with the same files are one build on a machine, for the instances with one role, whose keys the installer has.
// Its files never change after the installation, whatever game servers write: an instance has a hard link of a file
// only if neither owner nor others may write to it and this process has no right to do so all the same; of all other
// files it has a copy, which costs nothing on file systems that share extents.
//
// # Ports
//
// All instances lease the ports for {port} from one range. A runtime configuration with an entry without {port} whose
// Parameters contain a number from 1024 to 65535 has a fixed port. A second instance of the fleet with these Parameters
// waits until the first one has ended.
package instance
