// Package plan decides which server processes an agent starts and ends. It is a pure machine: time, ids and random
// numbers arrive with each call, and the calls return the actions to perform.
//
// The rules are those of GameLift's agent. A process belongs to the entry of the runtime configuration that it was
// started for; entries are equal if path, parameters and count are. Processes of entries that are not in the
// configuration any more are not ended, but hold vacancies until they exit. A launch is followed by a wait of 3 s,
// which shrinks to 1 s as long as the processes live.
//
// Source: amazon-gamelift-agent 1.0.3, GameProcessMonitor, HeartbeatSender, ShutdownOrchestrator.
//
// Three rules are our own. An entry whose processes crash waits 1, 2, 4, up to 60 s for its next launch, and does not
// delay other entries. A process that must end gets a request to end first, and is killed 10 s later. A port for the
// placeholder {port} in Parameters is leased until 60 s after the process, so that late packets do not reach another
// game.
package plan
