// Package managed has the end-to-end tests of managed fleets: the real program as service and as the agent of a
// machine, the AWS CLI, and game servers.
package managed
