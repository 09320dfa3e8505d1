// Package serversdk is the door for game server processes: the WebSocket
// protocol that the server SDK 5 speaks in its C++, C#, Go and Unreal editions.
//
// A process connects with its identity in the URL's query, is let in or refused
// with an HTTP status, and from then on sends requests, each answered once, and
// receives pushes. The door knows the wire: dialects of the URL, frames, JSON,
// repeated requests, slow readers, and when and how a socket may be closed. What
// a request means is decided behind control.ServerConnector.
//
// Two rules come from how the SDKs react to a closed socket. The socket of a
// living process is cut by closing TCP without a Close frame, because the C++
// edition never connects again after a Close 1000 or 1001, and the Go edition
// recovers from a long outage only if no Close frame came. And because the C++
// edition repeats an unanswered request with the same RequestId, even over a new
// socket, the door remembers what it answered to each process.
//
// Source: amazon-gamelift-servers-go-server-sdk 5.6.0, …-cpp-server-sdk 5.4.0 and
// …-csharp-server-sdk 5.4.0, connection and message handling.
package serversdk
