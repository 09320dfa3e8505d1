package control

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/capacity"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// readyBuild returns the id and the bytes of a READY build.
func (w *world) readyBuild(t *testing.T) (id string, data []byte) {
	t.Helper()
	data = archive(t, "server", "#!/bin/sh\n")
	o := w.keep(data)
	w.change(catalog.CreateBuild{ID: "build-1", Name: "game", OperatingSystem: "AMAZON_LINUX_2023",
		Source: catalog.BuildSource{Bucket: "b", Key: "k"}, Hash: o.Hash, Size: o.Size})
	w.builds.check()
	w.await("the build is checked", func() bool {
		b, _ := w.Catalog().Build("build-1")
		return b.Status == catalog.BuildReady
	})
	return "build-1", data
}

func (w *world) change(c catalog.Command) {
	w.t.Helper()
	if err := w.Change(w.ctx, c); err != nil {
		w.t.Fatal(err)
	}
}

// A box is a machine that does at once what is wanted of it.
type box struct {
	*machineSocket
	w     *world
	name  string
	offer protocol.Offer
}

// box joins a machine at the home of the region.
func (w *world) box(name string, key byte) *box { return w.boxOf(name, key, boxOffer.MilliCPUs) }

// boxOf joins a machine with CPUs at the home of the region.
func (w *world) boxOf(name string, key byte, milliCPUs int32) *box {
	w.t.Helper()
	s, err := w.joinMachine(name, "", w.machineToken(testRegion, time.Hour), key)
	if err != nil {
		w.t.Fatal(err)
	}
	b := &box{s, w, name, boxOffer}
	b.offer.MilliCPUs = milliCPUs
	w.clock.Advance(protocol.ReportInterval) // an offer is not stored more often
	b.report()
	return b
}

var boxOffer = protocol.Offer{MilliCPUs: 1500, MemoryMiB: 64 << 10, PortFirst: 1, PortLast: 9, IP: "192.0.2.7",
	OS: "linux"}

// report sends the states of instances.
func (b *box) report(states ...protocol.InstanceState) {
	b.w.t.Helper()
	err := b.Observed(b.w.ctx, &protocol.Observed{Offer: b.offer, Instances: states})
	if err != nil {
		b.w.t.Fatal(err)
	}
}

func (b *box) stage(id string, stage protocol.Stage) {
	b.w.t.Helper()
	b.report(protocol.InstanceState{ID: id, Stage: stage})
}

// instance waits for the only instance that is wanted of the machine.
func (b *box) instance() protocol.Instance {
	b.w.t.Helper()
	b.w.await("an instance for "+b.name, func() bool { return len(b.newest().Instances) == 1 })
	return b.newest().Instances[0]
}

// managedFleet creates an EC2-type fleet of a build.
func (w *world) managedFleet(build string, more object) string {
	w.t.Helper()
	in := object{"Name": "managed", "BuildId": build, "EC2InstanceType": "c5.large", "FleetType": "ON_DEMAND",
		"RuntimeConfiguration": object{"ServerProcesses": []object{{"LaunchPath": "/local/game/server",
			"Parameters": "-x", "ConcurrentExecutions": 2}}},
		"EC2InboundPermissions": []object{{"FromPort": 7000, "ToPort": 7010, "IpRange": "0.0.0.0/0",
			"Protocol": "UDP"}}}
	for k, v := range more {
		in[k] = v
	}
	return text(w.must("CreateFleet", in), "FleetAttributes", "FleetId")
}

func (w *world) fleetStatus(id string) string {
	w.t.Helper()
	return text(w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), "FleetAttributes", 0, "Status")
}

// codes returns the codes of the events of a fleet, oldest first.
func (w *world) codes(id string) []string {
	w.t.Helper()
	codes := texts(at(w.must("DescribeFleetEvents", object{"FleetId": id}), "Events"), "EventCode")
	slices.Reverse(codes)
	return codes
}

// serve connects a server process of an instance that is ready.
func (b *box) serve(in protocol.Instance, process string) *socket {
	b.w.t.Helper()
	token := b.Token(b.w.ctx, &protocol.TokenRequest{Instance: in.ID})
	if token.Token == "" || token.SDK == "" || token.Agent == "" {
		b.w.t.Fatalf("the token is %+v", token)
	}
	return b.w.process(in.Fleet, in.ID, token.Token, process)
}

// TestManagedFleet follows a fleet from its creation through a game session to its end.
func TestManagedFleet(t *testing.T) {
	w := newWorld(t, withObjects(t))
	build, _ := w.readyBuild(t)
	b := w.box("box", 1)
	id := w.managedFleet(build, nil)
	in := b.instance()
	if in.Fleet != id || in.Build.ID != build || len(in.Runtime) != 1 || in.MilliCPUs != 2000 || in.Ends {
		t.Errorf("wanted is %+v", in)
	}
	w.await("DOWNLOADING", func() bool { return w.fleetStatus(id) == "DOWNLOADING" })
	b.stage(in.ID, protocol.Downloading)
	b.stage(in.ID, protocol.Building)
	if got := w.fleetStatus(id); got != "BUILDING" {
		t.Errorf("the fleet is %s", got)
	}
	b.stage(in.ID, protocol.Running)
	s := b.serve(in, "p1")
	w.await("ACTIVE", func() bool { return w.fleetStatus(id) == "ACTIVE" })
	want := []string{"FLEET_CREATED", "FLEET_STATE_DOWNLOADING", "FLEET_CREATION_EXTRACTING_BUILD",
		"FLEET_STATE_VALIDATING", "FLEET_CREATION_VALIDATING_RUNTIME_CONFIG", "FLEET_STATE_BUILDING",
		"FLEET_STATE_ACTIVATING", "FLEET_STATE_ACTIVE"}
	codes := slices.DeleteFunc(w.codes(id), func(code string) bool { return code == "GENERIC_EVENT" })
	if !reflect.DeepEqual(codes, want) {
		t.Errorf("the events are %v, want %v", codes, want)
	}
	instances := w.must("DescribeInstances", object{"FleetId": id})
	same(t, at(instances, "Instances", 0, "Status"), `"ACTIVE"`)
	same(t, at(instances, "Instances", 0, "InstanceId"), `"%s"`, in.ID)
	computes := w.must("ListCompute", object{"FleetId": id})
	same(t, at(computes, "ComputeList", 0, "ComputeName"), `"%s"`, in.ID)
	same(t, at(computes, "ComputeList", 0, "Type"), `"c5.large"`)

	same(t, w.must("DescribeEC2InstanceLimits", object{}), `{"EC2InstanceLimits":[{"EC2InstanceType":"c5.large",`+
		`"CurrentInstances":1,"InstanceLimit":1,"Location":"%s"}]}`, testRegion)

	session := w.must("CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
	arn := text(session, "GameSession", "GameSessionId")
	if !strings.HasPrefix(arn, "arn:aws:gamelift:"+testRegion+"::gamesession/"+id+"/gsess-") {
		t.Errorf("the ARN is %s", arn)
	}
	w.must("DeleteFleet", object{"FleetId": id})
	w.await("the instance has to end", func() bool { return b.instance().Ends })
	w.refused(fault.InvalidFleetStatus, "CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
	s.ok(s.end())
	b.stage(in.ID, protocol.Ended)
	w.await("the fleet is deleted", func() bool {
		_, err := w.call("DescribeRuntimeConfiguration", object{"FleetId": id})
		f, _ := w.Catalog().Fleet(id)
		return err == nil && f.Status == catalog.StatusTerminated
	})
	w.refused(fault.NotFound, "DescribeInstances", object{"FleetId": id})
	if codes := w.codes(id); codes[len(codes)-1] != "FLEET_DELETED" {
		t.Errorf("the events end with %v", codes)
	}
	w.await("nothing is wanted", func() bool { return len(b.newest().Instances) == 0 })
}

// TestInstanceLimits: limits follow from the machines of a location, for any type, before there is a fleet.
func TestInstanceLimits(t *testing.T) {
	w := newWorld(t)
	same(t, w.must("DescribeEC2InstanceLimits", object{}), `{"EC2InstanceLimits":[]}`)
	w.must("CreateLocation", object{"LocationName": "custom-lab"})
	w.box("box", 1) // without instances it can have one of any type
	for location, want := range map[string]int{testRegion: 1, "custom-lab": 0} {
		in := object{"EC2InstanceType": "r5.xlarge", "Location": location}
		same(t, w.must("DescribeEC2InstanceLimits", in), `{"EC2InstanceLimits":[{"EC2InstanceType":"r5.xlarge",`+
			`"CurrentInstances":0,"InstanceLimit":%d,"Location":"%s"}]}`, want, location)
	}
	w.cfg.InstanceTypes = capacity.Types{"r5.xlarge": {MilliCPUs: 500, MemoryMiB: 128}}
	same(t, at(w.must("DescribeEC2InstanceLimits", object{"EC2InstanceType": "r5.xlarge"}), "EC2InstanceLimits", 0,
		"InstanceLimit"), "3")
	w.cfg.InstanceTypes = nil
	w.refused(fault.UnsupportedRegion, "DescribeEC2InstanceLimits", object{"Location": "eu-west-1"})
	w.refused(fault.InvalidRequest, "DescribeEC2InstanceLimits", object{"EC2InstanceType": "x1.32xlarge"})
	w.refused(fault.InvalidRequest, "DescribeEC2InstanceLimits", object{"EC2InstanceType": "abacus"})
}

// TestManagedFleetAttributes: what a fleet was created with is shown.
func TestManagedFleetAttributes(t *testing.T) {
	w := newWorld(t, withObjects(t), withCA())
	w.role("game", trustsFleets)
	build, _ := w.readyBuild(t)
	attributes := func(id string) any {
		return at(w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), "FleetAttributes", 0)
	}
	a := attributes(w.managedFleet(build, object{"LogPaths": []string{"/local/game/logs"},
		"PlayerGatewayMode":          "ENABLED",
		"PlayerGatewayConfiguration": object{"GameServerIpProtocolSupported": "IPv4"},
		"InstanceRoleArn":            gameRole, "RuntimeConfiguration": nil,
		"InstanceRoleCredentialsProvider": "SHARED_CREDENTIAL_FILE", "ServerLaunchPath": "/local/game/server",
		"ServerLaunchParameters": "-x", "CertificateConfiguration": object{"CertificateType": "GENERATED"}}))
	for member, want := range map[string]string{
		"LogPaths": `["/local/game/logs"]`, "PlayerGatewayMode": `"ENABLED"`,
		"PlayerGatewayConfiguration":      `{"GameServerIpProtocolSupported":"IPv4"}`,
		"InstanceRoleArn":                 `"` + gameRole + `"`,
		"InstanceRoleCredentialsProvider": `"SHARED_CREDENTIAL_FILE"`, "ServerLaunchPath": `"/local/game/server"`,
		"ServerLaunchParameters": `"-x"`, "CertificateConfiguration": `{"CertificateType":"GENERATED"}`,
		"FleetType": `"ON_DEMAND"`, "InstanceType": `"c5.large"`, "OperatingSystem": `"AMAZON_LINUX_2023"`,
		"ComputeType": `"EC2"`, "BuildId": `"` + build + `"`,
	} {
		same(t, at(a, member), "%s", want)
	}
	id := w.managedFleet(build, nil)
	same(t, at(attributes(id), "PlayerGatewayMode"), `"DISABLED"`)
	w.must("StopFleetActions", object{"FleetId": id, "Actions": []string{"AUTO_SCALING"}})
	same(t, at(attributes(id), "StoppedActions"), `["AUTO_SCALING"]`)
	w.refused(fault.InvalidRequest, "CreateFleet", object{"Name": "f", "PlayerGatewayMode": "REQUIRED"})
}

// TestShortage: instances that fit on no machine are shown, and announced when they are missing and when they are not
// any more.
func TestShortage(t *testing.T) {
	feed := memory.NewFeed()
	w := newWorld(t, withObjects(t), func(w *world) { w.config.Feed = feed })
	build, _ := w.readyBuild(t)
	id := w.managedFleet(build, nil)
	events := func() string {
		var all bytes.Buffer
		if err := feed.Read(w.ctx, 0, func(_ uint64, data []byte) bool { all.Write(data); return true }); err != nil {
			t.Fatal(err)
		}
		return all.String()
	}
	announced := func(kind string, missing int) func() bool {
		return func() bool {
			return strings.Contains(events(), `"detail-type":"Muster Capacity Event","source":"muster",`) &&
				strings.Contains(events(), fmt.Sprintf(`"detail":{"type":"muster.capacity.%s","fleetId":"%s",`+
					`"location":"%s","desiredInstances":1,"missingInstances":%d`, kind, id, testRegion, missing))
		}
	}
	w.await("the shortage is announced", announced("short", 1))
	list, err := w.Instances(w.ctx, InstanceQuery{Fleet: id, Limit: 9})
	if err != nil || len(list.Shortages) != 1 || list.Shortages[0].Missing != 1 ||
		!strings.Contains(list.Shortages[0].Reason, "No machine has joined") {
		t.Errorf("the shortages are %+v, %v", list, err)
	}
	list, err = w.Instances(w.ctx, InstanceQuery{Fleet: "fleet-other", Limit: 9})
	if err != nil || list.Shortages != nil {
		t.Errorf("of another fleet: %+v, %v", list, err)
	}
	o, err := w.Overview(w.ctx, nil)
	want := "fleet managed / " + testRegion + ": 1 instance fewer than desired: No machine has joined"
	if err != nil || len(o.Attention) != 1 || o.Attention[0].Kind != "shortage" || o.Attention[0].Since == nil ||
		!strings.HasPrefix(o.Attention[0].Text, want) {
		t.Errorf("the overview has %+v, %v, want %s", o, err, want)
	}
	w.box("box", 1)
	w.await("its end is announced", announced("restored", 0))
	if n := strings.Count(events(), "muster.capacity"); n != 2 {
		t.Errorf("%d announcements: %s", n, events())
	}
	w.advance("the announcements are removed", time.Second, func() bool {
		return len(w.Catalog().Announcements(0, 9)) == 0
	})
}
