package control

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// withCA has the plane issue certificates, which show their names.
func withCA() option {
	return func(w *world) {
		w.config.InstanceDomain = "games.example.com"
		w.config.Certify = func(request []byte, names []string) (certificate, root []byte, err error) {
			return []byte(string(request) + " for " + strings.Join(names, ",")), []byte("root"), nil
		}
	}
}

// TestCertificatesOfInstances: the machine of an instance gets a certificate, and players get its name.
func TestCertificatesOfInstances(t *testing.T) {
	w := newWorld(t, withObjects(t), withCA())
	b := w.box("box", 1)
	other := w.box("other", 2)
	build, _ := w.readyBuild(t)
	id := w.managedFleet(build, object{"CertificateConfiguration": object{"CertificateType": "GENERATED"}})
	w.await("an instance", func() bool { return len(b.newest().Instances)+len(other.newest().Instances) == 1 })
	if len(b.newest().Instances) == 0 {
		b, other = other, b
	}
	in := b.instance()
	name := in.ID + "." + id + ".games.example.com"
	if !in.Certificate {
		t.Errorf("the instance needs no certificate: %+v", in)
	}
	request := &protocol.TokenRequest{Instance: in.ID, CertificateRequest: []byte("request")}
	if got := b.Token(w.ctx, request); got.Certificate != "request for "+name+",192.0.2.7" || got.Root != "root" ||
		got.Token == "" {
		t.Errorf("the answer is %+v", got)
	}
	if got := other.Token(w.ctx, request); got.Certificate != "" || got.Error == "" {
		t.Errorf("another machine got %+v", got)
	}
	if got := text(w.must("DescribeInstances", object{"FleetId": id}), "Instances", 0, "DnsName"); got != name {
		t.Errorf("the instance has the name %s", got)
	}
	if got := text(w.must("DescribeFleetAttributes", object{"FleetIds": []string{id}}), "FleetAttributes", 0,
		"CertificateConfiguration", "CertificateType"); got != "GENERATED" {
		t.Errorf("the fleet has %s", got)
	}
	b.stage(in.ID, protocol.Running)
	b.serve(in, "p1")
	w.await("the fleet is ACTIVE", func() bool { return w.fleetStatus(id) == "ACTIVE" })
	session := w.must("CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 2})
	if got := text(session, "GameSession", "DnsName"); got != name {
		t.Errorf("the game session has the name %s", got)
	}
}

// TestNoCertificates: a fleet without them has machines that get none, and a service without a CA refuses them.
func TestNoCertificates(t *testing.T) {
	w := newWorld(t, withObjects(t))
	b := w.box("box", 1)
	build, _ := w.readyBuild(t)
	w.refused(fault.InvalidRequest, "CreateFleet", object{"Name": "managed", "BuildId": build,
		"EC2InstanceType": "c5.large", "CertificateConfiguration": object{"CertificateType": "GENERATED"},
		"RuntimeConfiguration": object{"ServerProcesses": []object{{"LaunchPath": "/local/game/server",
			"ConcurrentExecutions": 1}}}})
	w.managedFleet(build, nil)
	in := b.instance()
	request := &protocol.TokenRequest{Instance: in.ID, CertificateRequest: []byte("request")}
	if got := b.Token(w.ctx, request); in.Certificate || got.Certificate != "" || got.Error == "" {
		t.Errorf("the instance is %+v, the answer %+v", in, got)
	}
}

func TestCertificateDir(t *testing.T) {
	for want, o := range map[string]catalog.MachineOffer{
		"/srv/m/i/i-1/certificate": {OS: "linux", Instances: "/srv/m/i"},
		`C:\m\i\i-1\certificate`:   {OS: "windows", Instances: `C:\m\i`},
		"":                         {OS: "linux"},
	} {
		if got := certificateDir(&o, "i-1"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
