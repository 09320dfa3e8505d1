// Package sessions walks through the ways of a game client to a game session, item by item: over the HTTP gateway, with
// named sessions and on the local network, and with the session client. The service, the game servers and the sockets
// are real, and so are the processes where an item speaks of one.
//
// make walkthrough prints the items, each with its mark.
package sessions
