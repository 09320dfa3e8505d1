package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/server"
)

const (
	clockWarning = 5 * time.Second // a shard handles a larger step of the clock as a pause
	futureFile   = time.Minute     // a file that is so much newer than the clock

	diskFailure  = server.LowDisk
	diskWarning  = 2 << 30 // bytes that are free
	syncWarning  = 10 * time.Millisecond
	syncFailure  = 100 * time.Millisecond // as the alert MusterJournalSlow
	syncs        = 20
	syncSize     = 4 << 10 // bytes
	fewFiles     = 4096
	certificates = server.CertificateWarning
)

// clock compares the clock with that of the service, and with the newest file of the data directory.
func (e *examination) clock(ctx context.Context) {
	const fix = "Synchronise the clocks of all machines: on Linux \"timedatectl set-ntp true\", or chrony."
	before := len(e.found)
	if yes, known := e.probes.synced(); known && !yes {
		e.add(checkWarning, fix, "the system does not synchronise its clock")
	}
	if newest, at := newestFile(e.config.Data); at.After(e.now().Add(futureFile)) {
		e.add(checkFailure, fix+" It may have been set back.",
			"%s was written at %s, but it is %s: the clock is behind", newest, moment(&at),
			e.now().UTC().Format(time.RFC3339))
	}
	if e.service != "" && !e.noService {
		skew, err := e.serviceSkew(ctx)
		limit := cmp.Or(e.config.ClockSkew, config.Default().ClockSkew)
		switch {
		case err != nil: // another check has the reason
		case skew.Abs() >= limit:
			e.add(checkFailure, fix, "it differs from that of the service by %s; calls are rejected from %s on", skew,
				limit)
		case skew.Abs() > clockWarning:
			e.add(checkWarning, fix, "it differs from that of the service by %s", skew)
		}
	}
	if len(e.found) == before {
		e.add(checkOK, "", "%s", e.now().UTC().Format(time.RFC3339))
	}
}

// newestFile returns the file of the journal that was written last.
func newestFile(data string) (name string, at time.Time) {
	if data == "" {
		return "", at
	}
	_ = filepath.WalkDir(filepath.Join(data, "journal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is examined elsewhere
		}
		if about, err := entry.Info(); err == nil && about.ModTime().After(at) {
			name, at = path, about.ModTime()
		}
		return nil
	})
	return name, at
}

// listening checks whether each address is free, or this service's.
func (e *examination) listening(ctx context.Context) {
	c := &e.config
	all := portsOf(c)
	if c.Legacy == config.On {
		for port := range strings.SplitSeq(c.LegacyPorts, ",") {
			all = append(all, servicePort{"legacy-ports", net.JoinHostPort(c.LegacyListen, port)})
		}
	}
	if !c.Cluster.Alone() && len(c.Cluster.NATS) == 0 {
		all = append(all, servicePort{"cluster-listen", c.Cluster.Listen})
	}
	for _, p := range all {
		e.port(ctx, p)
	}
}

func (e *examination) port(ctx context.Context, p servicePort) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if err == nil {
		_ = listener.Close()
		if p.setting == "listen" {
			e.add(checkOK, "", "listen: %s is free: no service runs here", p.address)
			return
		}
		e.add(checkOK, "", "%s: %s is free", p.setting, p.address)
		return
	}
	port := portNumber(p.address)
	owners := e.probes.owners(ctx, []int{port})[port]
	ours := e.ready && !slices.ContainsFunc(owners, func(o portOwner) bool { return o.PID != e.pid })
	switch {
	case isInUse(err) && ours:
		e.add(checkOK, "", "%s: %s is in use by this service, which is ready", p.setting, p.address)
	case isInUse(err):
		e.add(checkFailure, fmt.Sprintf("End that process, or choose another address with the setting %s. If it is "+
			"this service, read why it is not ready in its log, or with \"muster logs\".", p.setting),
			"%s: %s is in use by %s", p.setting, p.address, nameOwners(owners))
	case errors.Is(err, fs.ErrPermission):
		e.add(checkFailure, "Choose a port from 1024 on, or give the service CAP_NET_BIND_SERVICE.", "%s: %s",
			p.setting, err)
	default:
		e.add(checkFailure, "Set "+p.setting+" to an address of this machine, such as :9080.", "%s: %s", p.setting, err)
	}
}

// disk checks the data directory, the space that is free, and how long an fsync takes.
func (e *examination) disk(context.Context) {
	data := e.config.Data
	const permit = "Run this as the user of the service, with sudo -u. If it is that user, give it the permission to " +
		"read and write the directory (chown)."
	if err := server.ExamineData(e.config); err != nil {
		fix := "Set data to another directory, or region, account and shards to those that the directory has."
		switch {
		case errors.Is(err, fs.ErrPermission):
			fix = permit
		case errors.Is(err, server.ErrNewer):
			fix = "Start a release that is as new as the one that wrote it."
		}
		e.add(checkFailure, fix, "%s", err)
		return
	}
	at := existing(data)
	if uid := e.probes.owner(data); uid != "" {
		e.add(checkWarning, fmt.Sprintf("Run as that user: \"sudo -u '#%s' muster doctor\".", uid),
			"%s belongs to user %s: what that user can write is not checked", at, uid)
	}
	times, err := e.probes.syncs(at)
	if err != nil {
		e.unwritable(at, err, permit)
		return
	}
	e.space(at)
	slices.Sort(times)
	median, worst := times[len(times)/2], times[len(times)-1]
	text := fmt.Sprintf("%s: an fsync takes %s, at most %s", at, rounded(median), rounded(worst))
	switch fix := "Use a local SSD with power-loss protection for the data directory: answers wait for it."; {
	case median >= syncFailure:
		e.add(checkFailure, fix, "%s", text)
	case median >= syncWarning || worst >= syncFailure:
		e.add(checkWarning, fix, "%s", text)
	default:
		e.add(checkOK, "", "%s", text)
	}
}

// unwritable reports why the directory at, which is data or the nearest existing one above it, cannot be written.
func (e *examination) unwritable(at string, err error, permit string) {
	data, denied := e.config.Data, errors.Is(err, fs.ErrPermission)
	switch {
	case denied && at != data: // at is not the service's own: its owner must not change
		e.add(checkFailure, "The data directory of the service may be another one: name it with --data or the "+
			"setting data. Before its first start, create it for the user of the service.",
			"%s does not exist, and %s does not let this user create it", data, at)
	case denied:
		e.add(checkFailure, permit, "%s cannot be written: %s", at, err)
	default:
		e.add(checkFailure, "Free some space, or repair the disk; a read-only file system must be mounted for writing.",
			"%s cannot be written: %s", at, err)
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// existing returns the directory, or the nearest one above it that exists.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, failed := os.Stat(dir); failed == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	return dir
}

func (e *examination) space(dir string) {
	size, free := e.probes.disk(dir)
	text := fmt.Sprintf("%s: %d of %d MiB are free", dir, free>>20, size>>20)
	switch fix := "Free some space, or use a larger disk: a service whose disk is full stops."; {
	case size == 0:
		e.add(checkSkipped, "", "%s: the free space is unknown", dir)
	case free < diskFailure:
		e.add(checkFailure, fix, "%s", text)
	case free < diskWarning:
		e.add(checkWarning, fix, "%s", text)
	default:
		e.add(checkOK, "", "%s", text)
	}
}

// syncTimes measures how long it takes to append to a file and to sync it.
func syncTimes(dir string) (times []time.Duration, err error) {
	file, err := os.CreateTemp(dir, ".muster-doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, syncSize)
	for range syncs {
		if _, err := file.Write(block); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := file.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

// descriptors compares the limit of open files with what the service needs.
func (e *examination) descriptors(context.Context) {
	files := e.probes.files(e.pid)
	room := server.ConnectionsWithin(files, e.config.Shards)
	text := fmt.Sprintf("the limit of open files is %d", files)
	switch fix := "Raise it: LimitNOFILE=65536 in the systemd unit, \"ulimit -n 65536\" in a shell."; {
	case room < 1:
		e.add(checkFailure, fix, "%s, less than the journals need", text)
	case e.config.MaxConnections > room:
		e.add(checkFailure, fix+" Or lower max-connections.", "%s: max-connections is %d, but %d are possible", text,
			e.config.MaxConnections, room)
	case files < fewFiles:
		e.add(checkWarning, fix, "%s, enough for %d connections", text, room)
	default:
		e.add(checkOK, "", "%s", text)
	}
}

// openFilesOf returns the limit of open files of a process, or of this one if that is not known. The Go runtime raises
// the limit of both as far as possible.
func openFilesOf(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "limits"))
	if err == nil && pid > 0 {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(strings.TrimPrefix(line, "Max open files"))
			if n, err := strconv.Atoi(fields[0]); err == nil && strings.HasPrefix(line, "Max open files") {
				return n
			}
		}
	}
	return server.OpenFiles()
}

// certificates checks files of certificates and keys, their dates and names.
func (e *examination) certificates(context.Context) {
	c := &e.config
	host := ""
	if u, err := url.Parse(c.PublicURL); err == nil && u.Scheme == "wss" {
		host = u.Hostname()
	}
	if c.TLSCert != "" {
		e.pair("tls", c.TLSCert, c.TLSKey, host)
	} else {
		e.localCA(filepath.Join(c.Data, "tls"))
	}
	if c.Cluster.Alone() {
		return
	}
	if c.Cluster.Cert != "" {
		e.pair("cluster", c.Cluster.Cert, c.Cluster.Key, "")
	}
	if err := server.ExamineNode(*c); err != nil {
		e.add(checkFailure, "Create the files of all nodes with \"muster cluster init\", or set cluster-cert, "+
			"cluster-key and cluster-ca.", "%s", err)
	}
}

// pair checks a certificate, given by the settings prefix-cert and prefix-key.
func (e *examination) pair(prefix, cert, key, host string) {
	both, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		e.add(checkFailure, fmt.Sprintf("Set %s-cert and %[1]s-key to PEM files that belong together, which the user "+
			"of the service can read.", prefix), "%s-cert: %s", prefix, err)
		return
	}
	if exposed(key) {
		e.add(checkWarning, "chmod 600 "+key, "%s-key: all users of this machine can read %s", prefix, key)
	}
	leaf := both.Leaf
	if host != "" && leaf.VerifyHostname(host) != nil {
		e.add(checkFailure, "Use a certificate with that name, or change public-url.",
			"%s-cert: %s has no name %s, which public-url has", prefix, cert, host)
		return
	}
	e.dates(prefix+"-cert: "+cert, leaf, "Renew it; the service reads the file again by itself.")
}

// dates checks when a certificate is valid.
func (e *examination) dates(name string, c *x509.Certificate, fix string) {
	now := e.now()
	switch {
	case now.After(c.NotAfter):
		e.add(checkFailure, fix, "%s has expired at %s", name, moment(&c.NotAfter))
	case now.Before(c.NotBefore):
		e.add(checkFailure, "Check the clock, or wait. "+fix, "%s is valid from %s on", name, moment(&c.NotBefore))
	case c.NotAfter.Sub(now) < certificates:
		e.add(checkWarning, fix, "%s expires at %s", name, moment(&c.NotAfter))
	default:
		e.add(checkOK, "", "%s is valid until %s", name, moment(&c.NotAfter))
	}
}

// localCA checks the CA in the data directory. The service renews it, and the certificates that it issues.
func (e *examination) localCA(dir string) {
	file := filepath.Join(dir, "ca.pem")
	text, err := os.ReadFile(file)
	switch _, missing := os.Stat(dir); {
	case errors.Is(err, fs.ErrPermission):
		e.add(checkSkipped, "Run as the user of the service.", "%s", err)
		return
	case missing != nil || errors.Is(err, fs.ErrNotExist):
		if e.config.Cluster.Alone() { // else ExamineNode fails
			e.add(checkOK, "", "the service creates a local CA at its first start")
		}
		return
	}
	fix := "Restore ca.pem and ca.key from a backup, or delete both: the next start creates a new CA, which clients " +
		"must then trust."
	if block, _ := pem.Decode(text); err == nil && block != nil {
		var ca *x509.Certificate
		if ca, err = x509.ParseCertificate(block.Bytes); err == nil {
			if _, missing := tls.LoadX509KeyPair(file, filepath.Join(dir, "ca.key")); missing != nil {
				e.add(checkFailure, fix, "%s: the key ca.key: %s", file, missing)
				return
			}
			e.dates(file, ca, "Start the service again, which creates a new CA, and give clients the new file.")
			return
		}
	}
	e.add(checkFailure, fix, "%s is no certificate: %v", file, err)
}

// exposed reports whether all users of the machine can read a file.
func exposed(file string) bool {
	about, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && about.Mode().Perm()&0o004 != 0
}

// secrets checks the files of secrets and keys, and whether the service accepts the access key.
func (e *examination) secrets(context.Context) {
	before := len(e.found)
	if e.config.Data != "" {
		for _, err := range eachError(server.ExamineKeys(e.config)) {
			e.add(checkFailure, "Correct the file, or the setting that names it; the user of the service must be able "+
				"to read it.", "%s", err)
		}
		c := &e.config
		for _, file := range []string{filepath.Join(c.Data, "region.secret"), filepath.Join(c.Data, profileFile),
			c.Gateway.KeysFile, c.Gateway.SecretFile, c.WebhookSecretFile, c.Cluster.NATSCreds} {
			if file != "" && exposed(file) {
				e.add(checkWarning, "chmod 600 "+file, "all users of this machine can read %s", file)
			}
		}
	}
	e.accessKey()
	if len(e.found) == before {
		e.add(checkOK, "", "the files of secrets and keys are readable and complete")
	}
}
