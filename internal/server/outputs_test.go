package server

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/gameserver"
)

// ok fails the test for an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// host registers a compute and connects its game server p1 at a node. It returns the query with which the agent of the
// compute connects.
func host(e *endpoint) url.Values {
	e.Helper()
	client := gamelift.New(gamelift.Options{Region: e.Region, BaseEndpoint: &e.HTTP, HTTPClient: http.DefaultClient,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}, nil
		})})
	ctx, location, compute := e.Context(), new("custom-a"), new("c1")
	_, err := client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: location})
	ok(e.T, err)
	created, err := client.CreateFleet(ctx, &gamelift.CreateFleetInput{Name: new("arena"),
		ComputeType: types.ComputeTypeAnywhere, Locations: []types.LocationConfiguration{{Location: location}}})
	ok(e.T, err)
	fleet := created.FleetAttributes.FleetId
	_, err = client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{FleetId: fleet, Location: location,
		ComputeName: compute, IpAddress: new("127.0.0.1")})
	ok(e.T, err)
	token, err := client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: fleet,
		ComputeName: compute})
	ok(e.T, err)
	server := gameserver.New(gameserver.Config{Log: slog.New(slog.DiscardHandler),
		Getenv: func(string) string { return "" }})
	e.Cleanup(func() { server.Close(); server.Wait() })
	ok(e.T, server.Connect(ctx, gameserver.ServerParameters{WebSocketURL: e.WS, ProcessID: "p1", HostID: *compute,
		FleetID: *fleet, AuthToken: *token.AuthToken}))
	ok(e.T, server.ProcessReady(ctx, gameserver.ProcessParameters{Port: 7777,
		OnStartGameSession: func(gameserver.GameSession) {}}))
	return url.Values{"FleetId": {*fleet}, "ComputeName": {*compute}, "Authorization": {*token.AuthToken}}
}

// An agentSocket is that of "muster agent".
type agentSocket struct {
	*testing.T
	*websocket.Conn
}

// dialAgent connects an agent to a node, as soon as that knows its compute.
func dialAgent(e *endpoint, query url.Values) agentSocket {
	e.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, resp, err := websocket.DefaultDialer.DialContext(e.Context(), e.WS+"/agent?"+query.Encode(),
			http.Header{"Muster-Logs": {"1"}})
		if err == nil {
			e.Cleanup(func() { conn.Close() })
			ok(e.T, conn.SetReadDeadline(time.Now().Add(time.Minute)))
			return agentSocket{e.T, conn}
		}
		if resp == nil || resp.StatusCode != http.StatusForbidden {
			e.Fatal(err)
		}
		<-again.C
	}
}

// put waits until the lines of p1 are asked for, and sends some.
func (a agentSocket) put(lines string, ended bool) {
	a.Helper()
	var m struct{ Action, ProcessId, StreamId string }
	for m.Action != "FollowServerProcessLog" {
		ok(a.T, a.ReadJSON(&m))
	}
	if m.ProcessId != "p1" {
		a.Errorf("the agent is asked for %+v", m)
	}
	ok(a.T, a.WriteJSON(map[string]any{"Action": "PutServerProcessLog", "RequestId": uuid.NewString(),
		"StreamId": m.StreamId, "Lines": lines, "Ended": ended}))
}

// TestOutputOfNodes: the output of a process is followed on one node while its agent is connected to another one, loses
// its connection, continues on a third one, and that node is stopped.
func TestOutputOfNodes(t *testing.T) {
	endpoints := beginAll(t, threeNodes(t))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	first := &endpoints[0]
	first.shards(true)
	query := host(first)
	agent := dialAgent(&endpoints[1], query)
	response, err := first.do("GET", "/v1/processes/p1/log?follow=true", "")
	ok(t, err)
	defer time.AfterFunc(time.Minute, func() { response.Body.Close() }).Stop() // fails the test
	defer response.Body.Close()
	answer := bufio.NewScanner(response.Body)
	next := func(note bool, text string) {
		t.Helper()
		var line struct {
			Text string
			Note bool
		}
		if !answer.Scan() {
			t.Fatalf("the answer has ended before %q: %v", text, answer.Err())
		}
		ok(t, json.Unmarshal(answer.Bytes(), &line))
		if line.Note != note || !strings.Contains(line.Text, text) {
			t.Fatalf("got %s, want %q", answer.Bytes(), text)
		}
	}
	const one, two = "2026-01-02T03:04:05.000001Z out one\n", "2026-01-02T03:04:05.000002Z out two\n"
	agent.put(one, false)
	next(false, "one")
	ok(t, agent.Close())
	next(true, "Waiting until the agent is connected again.")

	agent = dialAgent(&endpoints[2], query)
	agent.put(one+two, false)
	next(false, "two")
	endpoints[2].stop()
	next(true, "Waiting until the agent is connected again.")

	agent = dialAgent(&endpoints[1], query)
	agent.put(one+two+"2026-01-02T03:04:05.000002Z out three\n", true)
	next(false, "three")
	if answer.Scan() {
		t.Errorf("after the end: %s", answer.Bytes())
	}
}
