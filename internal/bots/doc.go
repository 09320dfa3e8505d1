// Package bots runs virtual players: each joins a game session as a game client does, with package session, stays,
// leaves and joins again. A Plan decides what a bot does next, and is pure; Run carries it out; Stats count what
// happened.
package bots
