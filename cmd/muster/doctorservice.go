package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/server"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// serviceSkew returns by how much this clock is ahead of that of the service, to the second.
func (e *examination) serviceSkew(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(e.service, "/")+"/readyz", nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: e.tls, Proxy: http.ProxyFromEnvironment}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	at, err := http.ParseTime(response.Header.Get("Date"))
	return e.now().Sub(at).Truncate(time.Second), err
}

// accessKey checks whether the service has accepted the access key of the call.
func (e *examination) accessKey() {
	switch err := e.refused; {
	case e.noService:
		e.add(checkSkipped, callAService, "no access key is checked")
	case err == nil:
		e.add(checkOK, "", "the service accepts access key %s", e.keys.AccessKey)
	case hasKind(err, fault.AccessDenied):
		e.add(checkWarning, "Use a key that may muster:NodeRead, such as one of the role operator, to check more.",
			"the service accepts access key %s, but it may not read shards", e.keys.AccessKey)
	case e.incomplete != nil || hasKind(err, fault.UnrecognizedClient) || hasKind(err, fault.InvalidSignature) ||
		hasKind(err, fault.ExpiredToken) || hasKind(err, fault.IncompleteSignature):
		e.add(checkFailure, "Set a key of this region and its secret: --profile, AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, or \"muster login\".", "%s", err)
	default:
		e.add(checkSkipped, "", "the service at %s does not check the access key: see engine", e.service)
	}
}

const slowAppendMS = 100 // as the alert MusterJournalSlow

// engine checks the journals: of the service that was called, of NATS elsewhere, or of a data directory that no service
// uses.
func (e *examination) engine(ctx context.Context) {
	if e.unreachable() {
		e.add(checkFailure, "Without --endpoint, --profile and the variables AWS_… only this machine is checked.",
			"the service that is called does not answer: %s", e.refused)
	}
	switch {
	case e.shards != nil:
		e.journals(e.shards)
	case e.unreachable() && e.ready:
		return
	case e.refused != nil && !e.unreachable():
		e.add(checkSkipped, "", "the service has refused the call: %s", e.refused)
	case e.ready:
		e.add(checkSkipped, callAService, "a service is using the journals")
	default:
		e.stored(ctx)
	}
	e.reach(ctx, "nats", "Start NATS, or correct the URL; a firewall must let this machine connect.",
		natsHosts(e.config.Cluster.NATS))
}

// journals judges the shards and nodes of a service.
func (e *examination) journals(list *operator.ShardList) {
	before := len(e.found)
	for _, n := range list.Nodes {
		if n.Problem != "" {
			e.add(checkFailure, "Read the log of that node: \"muster logs --endpoint\" with its URL.", "node %s: %s",
				n.Name, n.Problem)
		}
		if n.DiskSize > 0 && n.DiskFree < diskWarning {
			e.add(checkWarning, "Free some space on that node, or use a larger disk.",
				"%d MiB are free on the disk of %s", n.DiskFree>>20, nodeOrService(n.Name))
		}
	}
	for _, s := range list.Shards {
		switch {
		case s.Problem != "":
			e.add(checkFailure, "Read the log of its owner: \"muster logs --shard\" with its number.", "shard %d: %s",
				s.Number, s.Problem)
		case s.Owner == "" && list.Node != "":
			e.add(checkFailure, "Start the nodes that are missing: a majority must be up.", "shard %d has no owner",
				s.Number)
		case s.Append != nil && s.Append.P99 > slowAppendMS:
			e.add(checkWarning, "Use a local SSD with power-loss protection for the data directory of its owner.",
				"shard %d: an append takes %.0f ms (99th percentile)", s.Number, s.Append.P99)
		}
	}
	if len(e.found) == before {
		e.add(checkOK, "", "%s with journals that can be read", counted(len(list.Shards), "shard"))
	}
}

func nodeOrService(node string) string {
	if node == "" {
		return "the service"
	}
	return "node " + node
}

// stored opens the journals of a data directory, which changes files in it: as another user, the service could not
// write these any more.
func (e *examination) stored(ctx context.Context) {
	data := e.config.Data
	switch _, err := os.Stat(filepath.Join(data, "region.json")); {
	case err != nil:
		e.add(checkSkipped, "", "%s has no region yet", data)
		return
	case !e.config.Cluster.Alone():
		e.add(checkSkipped, callAService, "a node of a cluster opens its journals with the other nodes")
		return
	case e.probes.owner(data) != "":
		e.add(checkSkipped, "Run as the user of the service.", "%s belongs to another user", data)
		return
	}
	_, closeData, err := server.OpenData(ctx, data, nil)
	switch {
	case errors.Is(err, server.ErrRunning):
		e.add(checkWarning, "Name its address with --listen, or its settings with --config.",
			"a service has opened %s, but none is ready at %s", data, e.config.Listen)
	case err != nil:
		e.add(checkFailure, "Move the directory away and restore a backup in its place with \"muster restore\".",
			"the journals in %s cannot be opened: %s", data, err)
	default:
		e.add(checkOK, "", "the journals in %s can be opened", data)
		if err := closeData(); err != nil {
			e.add(checkFailure, "Repair the disk.", "the journals in %s: %s", data, err)
		}
	}
}

// cluster checks whether the other nodes can be reached, and what the service that was called reports of them.
func (e *examination) cluster(ctx context.Context) {
	c := &e.config.Cluster
	before := len(e.found)
	if e.shards != nil && e.shards.Node != "" {
		e.reportedNodes(ctx)
	}
	if n := len(c.Peers); n == 1 && c.Peers[0] != c.Advertise {
		e.add(checkWarning, "Run three nodes, and set peer to the addresses of the others.",
			"two nodes do not survive the loss of one")
	}
	others := slices.DeleteFunc(slices.Clone(c.Peers), func(peer string) bool { return peer == c.Advertise })
	e.reach(ctx, "peer", "Start that node, correct its address in peer, or open its cluster-listen port in the "+
		"firewall.", others)
	if len(e.found) == before {
		e.add(checkOK, "", "no cluster: one node")
	}
}

// reportedNodes judges the nodes that the service lists.
func (e *examination) reportedNodes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	var list operator.NodeList
	if err := e.ask(ctx, path("nodes"), &list); err != nil {
		e.add(checkSkipped, "", "the nodes are not known: %s", err)
		return
	}
	up := 0
	for _, n := range list.Nodes {
		if n.Up {
			up++
		}
	}
	status := checkWarning
	if 2*up <= len(list.Nodes) {
		status = checkFailure
	}
	for _, n := range list.Nodes {
		switch {
		case !n.Up:
			e.add(status, fmt.Sprintf("Start it, or remove it with \"muster cluster remove %s\".", n.Name),
				"node %s is not reachable; %d of %d are up", n.Name, up, len(list.Nodes))
		case !n.Ready:
			e.add(checkWarning, "Wait; if it stays so, read its log.", "node %s is not ready", n.Name)
		case n.Behind > 0:
			e.add(checkWarning, "Wait until its copies are complete before another node stops.",
				"%d copies of node %s are not complete", n.Behind, n.Name)
		}
	}
	if up == len(list.Nodes) {
		e.add(checkOK, "", "all %d nodes are up", up)
	}
}

// reach dials addresses of a setting. It fails if none answers, and warns of each that does not.
func (e *examination) reach(ctx context.Context, setting, fix string, addresses []string) {
	failed := map[string]error{}
	dialer := net.Dialer{Timeout: healthTimeout}
	for _, at := range addresses {
		conn, err := dialer.DialContext(ctx, "tcp", at)
		if err != nil {
			failed[at] = err
			continue
		}
		_ = conn.Close()
	}
	status := checkWarning
	if len(failed) == len(addresses) {
		status = checkFailure
	}
	for _, at := range addresses {
		if err := failed[at]; err != nil {
			e.add(status, fix, "%s %s: %s", setting, at, err)
		} else {
			e.add(checkOK, "", "%s %s accepts connections", setting, at)
		}
	}
}

// natsHosts returns host:port of the URLs.
func natsHosts(urls []string) (hosts []string) {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			continue // settings are valid
		}
		port := u.Port()
		if port == "" {
			port = "4222"
		}
		hosts = append(hosts, net.JoinHostPort(u.Hostname(), port))
	}
	return hosts
}
