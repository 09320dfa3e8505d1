// Package catalog is the state of a region's resources apart from what runs on them: custom locations, fleets
// with their locations, runtime configurations and event logs, the names of computes, aliases, game session queues,
// matchmaking configurations and rule sets, tags, builds, buckets and objects, the recent creations of each creator,
// machines that have joined a location, and who may call: users, groups, roles, policies, access keys, identity
// providers, sign-ins and the saved views of the console. It is small, rarely written, and the same on every node.
//
// The package is a pure state machine. Decide returns the events for a command, Apply applies events and cannot fail,
// Expire returns the events for expired records. Ids and times are parameters, nothing waits, and maps are walked in
// order, so the same commands give the same events everywhere. Records are copied on write, and State.Copy is a frozen
// catalog for concurrent readers.
//
// # Rules
//
// These rules answer questions that the API reference leaves open.
//
//   - An Anywhere fleet is ACTIVE at its creation. Any fleet is
//     DELETING from DeleteFleet to FinishFleetDeletion, then TERMINATED. A TERMINATED
//     fleet is "not found", except that its event log can be read and that its runtime
//     configuration is empty; after Retention it is deleted. Its id cannot be used
//     again until then.
//   - A location may be deleted while fleets refer to it. They show it as NOT_FOUND,
//     which is derived on reading: if a location with this name is created again, it
//     is ACTIVE for them again.
//   - All locations of a fleet may be removed. A DELETING location counts as one of
//     the fleet's until FinishFleetLocationRemoval.
//   - A compute name is unique within a fleet. Claiming a name again for the same
//     location succeeds, so that a restarted host can register again.
//   - Creations count for the period of the fleet's policy, in a window that slides
//     with the time of each claim. A changed policy applies to the kept creations; a
//     removed one deletes them.
//   - Tags, compute names and counted creations are deleted with their resource.
//     Aliases outlive their fleet.
//   - A queue outlives its fleets and aliases, and a matchmaking configuration its
//     queues; destinations and queues must exist when they are set. A rule set cannot
//     be deleted while a configuration uses it. Each has an id besides its name, which
//     distinguishes it from a later one of the same name.
//   - A fleet keeps its newest 1000 events, each for Retention at most.
//   - From AccessLevel on there are users, groups, roles, policies, providers and
//     sign-ins, and access keys have owners. The catalog checks their references, names
//     and sizes; the caller checks the syntax of policies, and decides what they allow.
//     Built-in roles and policies are the caller's: commands say which names must be
//     stored here.
//   - Secrets are never stored in clear: passwords are argon2id hashes, invitations SHA-256,
//     and secrets of keys and clients are sealed by the caller. Tokens of sign-ins hold their
//     id and generation.
//   - Deleting a user deletes its assignments, access keys, sign-ins and saved views;
//     deleting a role deletes its assignments. A group is deleted only without users and assignments, a
//     policy only if nothing has it. Users lose a deleted external group.
//   - A user's NotBefore only rises, and ends the sign-ins that were started earlier.
//   - The refresh token of one generation starts the next one. For RefreshWindow the one
//     before succeeds too, without a change; any other ends the sign-in.
//   - An epoch of the region's secret never changes its key, and is removed only after
//     its end. So of two nodes that begin the next one at once, one fails.
//   - A secret is sealed again only if it is still the one that was read. A key is replaced by another one in one
//     command, so that a crash leaves one of them.
//   - An access key without an owner is the root's. A name is unique among the keys of an
//     owner, and no user's key has the name of one of the root's.
//   - From ViewLevel on there are saved views. They do not change the AccessVersion.
//   - From BuildLevel on there are builds, buckets and objects. A build receives its bytes once: by its creation, or by
//     the object that is uploaded for it. It is INITIALIZED until FinishBuild records the result of checking them.
//     Bytes are kept outside; the caller deletes those to which nothing refers.
//   - From MachineLevel on there are machines and their join tokens. A token is stored as
//     its hash, and deleted by the join that uses it. A machine is known by its key: with
//     the same key it may join again, with another offer, without a token. Whether it is
//     connected is not in the catalog. It is deleted only if it is drained or lost. It
//     outlives a custom location that is deleted.
//   - From ScalingLevel on the capacity of an EC2-type fleet changes, by requests and by scaling policies. A decision
//     of scaling names the number that it was made about, so that it cannot revert a request. The minimum of a location
//     that scales to and from zero follows its desired number. Policies are deleted with their fleet.
//   - From InstanceLevel on there are EC2-type fleets, with instances on machines. A fleet keeps the files of its build
//     by reference, so that it can start instances after the build was deleted. Until it is ACTIVE its status and its
//     fleet events follow from its most advanced instance, always in the same order, and the first failure makes it
//     ERROR. Each location has a status of its own. An instance is the compute of the same name; it stays on its
//     machine for good, and every change of what is wanted of it raises the generation of the machine. A fleet or a
//     location with instances is not finished.
//   - Limits are configuration. They apply to new resources and are not in the events.
//
// # Format
//
// Events lists the numbers of the event types and snapshot records: the catalog's are 1 to 99, of which 50 to 59, 80
// to 89 and 98 are records, and from 500 on, of which 515 to 519, 530, 531, 560 to 569 and 580 to 584 are records.
// Number 99, and those between the groups of events, are free. In a snapshot the records are grouped by type in the
// order of their numbers, and sorted by their keys. Fields are numbered within their type; the fields of Attributes
// are 20 to 25 in every type that embeds them, and events that embed a record have its numbers. Released numbers keep
// their meaning.
package catalog
