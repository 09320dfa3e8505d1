// Package logs collects the log of a game server that has ended in a zip archive, and uploads it to the service.
//
// An archive has process.json, stdout.log and stderr.log with the time of each line, the files of the log paths that
// the game server has reported, and ReadMe.txt if something is missing. Of the files those are taken that were changed
// while the game server ran: a directory may have those of earlier ones. The rules for log paths are those of the
// official agent, with /local/game/ for the working directory of game servers.
//
// Source of the rules: amazon-gamelift-agent 1.0.3, package logger.
package logs
