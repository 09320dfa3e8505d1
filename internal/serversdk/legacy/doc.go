// Package legacy is the endpoint for game servers on server SDK 3 and 4, whose protocols GameLift Local spoke. There
// are two of them.
//
// P1 is socket.io over WebSocket on port 5757: the SDKs for C++ up to 3.4.2 (with Unreal and O3DE), for C# 3.x, and the
// ports to Node.js and Java. A game server has one or two sockets; with two it sends requests over one of them and
// expects pushes over the other. P2 is HTTP on port 5758 for requests and a WebSocket on port 5759 for pushes: the SDK
// for C# 4.0.x, and the port to Rust. Requests are protobuf messages, and all that the service sends is JSON.
//
// Neither has credentials, names a fleet, or repeats anything after a lost connection. A game server is known by the
// address of its machine and its pID, so a server finds its process again after a lost socket and after a restart of
// the service. The requests and pushes are those of server SDK 5 in package processes; this package implements the
// wire.
//
// Reading order: frame.go, message.go and json.go are the formats, server.go is a game server with its sockets,
// requests.go what it asks for, pushes.go what it is asked for; socketio.go and http.go are the two protocols.
//
// Source: the server SDKs for C++ 3.4.2, C# 3.4.0 and 4.0.2, socket.io-client-cpp 1.6.1 and 3.1.0, and the ports to
// Node.js, Java and Rust.
package legacy
