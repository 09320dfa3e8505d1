// Package serversdk is the endpoint for game server processes: the WebSocket protocol of the server SDK 5 in its C++,
// C#, Go and Unreal editions.
//
// A process connects with its identity in the URL's query, is accepted or refused with an HTTP status, then sends
// requests, each answered once, and receives pushes. This package implements the wire: dialects of the URL, frames,
// JSON, repeated requests, slow readers, and when and how sockets are closed. The effects of requests are behind
// processes.Connector.
//
// Two rules follow from how the SDKs react to a closed socket. The socket of a running process is closed with TCP only,
// without a Close frame: the C++ edition never reconnects after Close 1000 or 1001, and the Go edition recovers from a
// long outage only without one. And because the C++ edition repeats an unanswered request with the same RequestId, even
// over a new socket, replies are stored per process.
//
// Source: amazon-gamelift-servers-go-server-sdk 5.6.0, …-cpp-server-sdk 5.4.0 and …-csharp-server-sdk 5.4.0, connection
// and message handling.
package serversdk
