// Package agent is the endpoint for GameLift's agents: the WebSocket protocol of the GameLift Agent, which starts and
// watches the server processes of a compute.
//
// An agent connects to Path with its compute and auth token in the URL's query, then sends requests, each answered
// once, and receives pushes. It never talks to its processes: they connect to package serversdk, and what one of the
// two sockets reports reaches the other through the room of the fleet location. This package implements the wire; the
// effects of requests are behind processes.AgentConnector.
//
// The requests of a socket are carried out one after the other: an agent sends a heartbeat a minute and a report for
// each process that ends, and a peer that sends faster than it is answered is slowed down by TCP. Replies are stored
// by RequestId, because an agent repeats a report with the same one. A repetition over another socket is carried out
// again, which changes nothing: the room records the end of a process once.
//
// There is no RefreshConnection: a token authenticates when a socket is opened, and an agent fetches a new one for each
// connection.
//
// Source: amazon-gamelift-agent 1.0.3, packages websocket and model/websocket.
package agent
