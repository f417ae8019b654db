// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/snapshot"
	"go.uber.org/zap"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// peers are the members of a cluster on loopback, with a directory each and a shared certificate.
type peers struct {
	t       *testing.T
	initial string
	listen  map[string]string
	paths   map[string]string
	files   Cluster
	running map[string]*Member
	dirs    map[string]*Dir
}

func newPeers(t *testing.T, names ...string) *peers {
	t.Helper()
	p := &peers{t: t, listen: map[string]string{}, paths: map[string]string{}, running: map[string]*Member{}, dirs: map[string]*Dir{}, files: peerFiles(t)}
	var initial []string
	for _, name := range names {
		at := must.Get(rig.FreePort())(t)
		p.listen[name] = "https://" + at.String()
		p.paths[name] = filepath.Join(t.TempDir(), name)
		initial = append(initial, name+"="+p.listen[name])
	}
	p.initial = strings.Join(initial, ",")
	return p
}

func (p *peers) configureCluster(name string) *Cluster {
	c := p.files
	c.MemberName, c.InitialCluster, c.ListenPeer = name, p.initial, p.listen[name]
	return &c
}

// The first member is ready only after the second.
func (p *peers) startMembers(names ...string) map[string]error {
	p.t.Helper()
	type result struct {
		name   string
		member *Member
		err    error
	}
	results := make(chan result)
	for _, name := range names {
		dir := openDirectory(p.t, p.paths[name])
		p.dirs[name] = dir
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			m, err := Start(ctx, Config{Dir: dir, Cluster: p.configureCluster(name)})
			if err != nil {
				dir.Close()
			}
			results <- result{name, m, err}
		}()
	}
	failed := map[string]error{}
	for range names {
		r := <-results
		if r.err != nil {
			failed[r.name] = r.err
			continue
		}
		p.running[r.name] = r.member
		p.t.Cleanup(r.member.Stop)
	}
	return failed
}

func (p *peers) mustStart(names ...string) {
	p.t.Helper()
	if failed := p.startMembers(names...); len(failed) > 0 {
		p.t.Fatal(failed)
	}
}

func (p *peers) stopMember(name string) {
	p.running[name].Stop()
	p.dirs[name].Close()
}

func (p *peers) connectMember(name string) *clientv3.Client {
	p.t.Helper()
	return connectMember(p.t, p.running[name])
}

func (p *peers) putKey(by, key string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		_, err := p.connectMember(by).Put(ctx, key, "v")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			p.t.Fatalf("%s does not write %s: %v", by, key, err)
		}
	}
}

func (p *peers) replaceMember(alive, joins string) {
	p.t.Helper()
	replaced := make(chan error, 1)
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	waiting := make(chan struct{})
	go func() {
		replaced <- Replace(ctx, p.paths[alive], joins, p.initial, func(string) { close(waiting) })
	}()
	select {
	case <-waiting:
	case err := <-replaced:
		p.t.Fatal(err)
	}
	p.mustStart(joins)
	must.Succeed(p.t, <-replaced)
}

// Two of three members accept writes, and the third catches up after a later start (E6). On a restart the membership in
// the store counts, even if the flags differ.
func TestCluster_goesOnWithoutOneOfThree(t *testing.T) {
	t.Parallel()
	p := newPeers(t, "a", "b", "c")
	p.mustStart("a", "b")
	p.putKey("a", "before")
	p.mustStart("c") // the founding member that starts late
	p.stopMember("c")
	p.putKey("b", "meanwhile")

	// The stored membership overrides different flags.
	p.initial = "c=" + p.listen["c"]
	p.mustStart("c")
	for _, key := range []string{"before", "meanwhile"} {
		answer, err := p.connectMember("c").Get(t.Context(), key)
		if err != nil || len(answer.Kvs) != 1 {
			t.Errorf("%s on the member that is back: %v, %v", key, answer, err)
		}
	}
	p.putKey("c", "after")
}

// A member that has lost the disk must not vote under the old name, because the former votes are forgotten. The member
// refuses to start and names the command `kubizone replace-member`. After this command the member joins as a new member
// (E6).
func TestCluster_doesNotTakeTheLostMembersPlaceUnasked(t *testing.T) {
	t.Parallel()
	p := newPeers(t, "a", "b", "c")
	p.mustStart("a", "b", "c")
	p.putKey("a", "k")
	p.stopMember("c")
	must.Succeed(t, os.RemoveAll(p.paths["c"]))
	var lost *LostMemberError
	if err := p.startMembers("c")["c"]; !errors.As(err, &lost) || !lost.Known ||
		!strings.Contains(err.Error(), "kubizone replace-member c") {
		t.Fatalf("the empty member started: %v", err)
	}

	p.replaceMember("a", "c")
	p.stopMember("a")
	p.putKey("c", "with the vote of the new member")

	// A member cannot replace itself, and a sole member has no peer to replace.
	if err := Replace(t.Context(), p.paths["b"], "b", p.initial, func(string) {}); err == nil || !strings.Contains(err.Error(), "run this on another member") {
		t.Errorf("a member replaced itself: %v", err)
	}
	p.putKey("b", "as ever")
	path := t.TempDir()
	sole := startMember(t, openDirectory(t, path))
	err := Replace(t.Context(), path, "c", p.initial, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "is a single member") {
		t.Errorf("a sole member let another one in: %v", err)
	}
	if list, err := connectMember(t, sole).MemberList(t.Context()); err != nil || len(list.Members) != 1 {
		t.Errorf("members of one that is alone: %v, %v", list, err)
	}
}

// A snapshot can be restored as the first of several members. This member then runs alone, whatever members the flags
// name, until the others are added. A member that is not added yet refuses to start, because a start would begin a
// second cluster (E6).
func TestDir_Restore_makesAMemberThatOthersJoin(t *testing.T) {
	t.Parallel()
	sole := startMember(t, openDirectory(t, t.TempDir()))
	must.Get(connectMember(t, sole).Put(t.Context(), "kept", "v"))(t)
	file := filepath.Join(t.TempDir(), "snapshot")
	must.Get(snapshot.SaveWithVersion(t.Context(), zap.NewNop(), clientv3.Config{Endpoints: sole.Endpoints()}, file))(t)
	sole.Stop()

	p := newPeers(t, "a", "b")
	const bump = 1e15
	dir := openDirectory(t, p.paths["a"])
	must.Succeed(t, dir.Restore(Snapshot{Path: file, Bump: bump, MemberName: "a", InitialCluster: p.initial}))
	if err := dir.Restore(Snapshot{Path: file}); err == nil || !strings.Contains(err.Error(), "has data") {
		t.Errorf("restored over data: %v", err)
	}
	dir.Close()
	p.mustStart("a")
	var lost *LostMemberError
	if err := p.startMembers("b")["b"]; !errors.As(err, &lost) || lost.Known {
		t.Fatalf("b began: %v", err)
	}
	p.replaceMember("a", "b")
	// Reads succeed once the member has caught up and votes.
	var answer *clientv3.GetResponse
	var err error
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		answer, err = p.connectMember("b").Get(t.Context(), "kept")
		if err == nil || !strings.Contains(err.Error(), "learner") || time.Now().After(until) {
			break
		}
	}
	if err != nil || len(answer.Kvs) != 1 || answer.Header.Revision < bump {
		t.Errorf("on the member that joined: %v, %v", answer, err)
	}
}

// E6.
func TestCluster_refusesTheDirectoryOfAnother(t *testing.T) {
	p := newPeers(t, "a")
	p.mustStart("a")
	p.stopMember("a")

	other := newPeers(t, "b")
	other.paths["b"] = p.paths["a"]
	if err := other.startMembers("b")["b"]; err == nil || !strings.Contains(err.Error(), "holds member a of a cluster, not b") {
		t.Errorf("as another member: %v", err)
	}
	sole := openDirectory(t, p.paths["a"])
	if m, err := Start(t.Context(), Config{Dir: sole}); err == nil || !strings.Contains(err.Error(), "holds member a") {
		m.Stop()
		t.Errorf("as the only member: %v", err)
	}

	single := openDirectory(t, t.TempDir())
	startMember(t, single).Stop()
	if _, err := Start(t.Context(), Config{Dir: single, Cluster: p.configureCluster("a")}); err == nil ||
		!strings.Contains(err.Error(), "holds a store of one member") {
		t.Errorf("a sole member's data as one of several: %v", err)
	}
}

// The port for other members of an etcd cluster requires a certificate of the members' authority. A client without one,
// or with one of another authority, is refused (E3).
func TestCluster_answersNoPeerOfAnotherCA(t *testing.T) {
	p := newPeers(t, "a")
	p.mustStart("a")
	stranger := peerFiles(t)
	pair := must.Get(tls.LoadX509KeyPair(stranger.CertFile, stranger.KeyFile))(t)
	for what, certificates := range map[string][]tls.Certificate{"none": nil, "another CA's": {pair}} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.listen["a"], "https://"), &tls.Config{InsecureSkipVerify: true, Certificates: certificates})
		if err == nil {
			// In TLS 1.3 a refused client certificate fails the first read.
			conn.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprintf(conn, "GET /members HTTP/1.1\r\nHost: a\r\n\r\n")
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("a peer with certificate %s: %v", what, err)
		}
	}
}

func TestCluster_Validate_saysAllThatIsWrong(t *testing.T) {
	good := newPeers(t, "a", "b").configureCluster("a")
	must.Succeed(t, good.Validate())
	for want, change := range map[string]func(*Cluster){
		`it names no member`:                                 func(c *Cluster) { c.InitialCluster = "" },
		`member "a" must have one URL, and an https`:         func(c *Cluster) { c.InitialCluster = "a=http://127.0.0.1:2380" },
		`"a" and "b" have one URL`:                           func(c *Cluster) { c.InitialCluster = "a=https://h:1,b=https://h:1" },
		`--etcd-initial-cluster "a"`:                         func(c *Cluster) { c.InitialCluster = "a" },
		`--etcd-initial-cluster does not name it, only a, b`: func(c *Cluster) { c.MemberName = "d" },
		`--etcd-member-name: must not be empty`:              func(c *Cluster) { c.MemberName = "" },
		`--etcd-listen-peer "https://host:2380"`:             func(c *Cluster) { c.ListenPeer = "https://host:2380" },
		`--etcd-listen-peer "http://127.0.0.1:2380"`:         func(c *Cluster) { c.ListenPeer = "http://127.0.0.1:2380" },
		`--etcd-peer-cert-file: must not be empty`:           func(c *Cluster) { c.CertFile = "" },
		`--etcd-peer-ca-file: stat /nowhere`:                 func(c *Cluster) { c.CAFile = "/nowhere" },
	} {
		c := *good
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func peerFiles(t *testing.T) Cluster {
	t.Helper()
	authority := must.Get(pki.Issue(nil, pki.Authority("peers"), time.Now(), time.Hour))(t)
	template := pki.Serving("peer", []string{"127.0.0.1"})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	peer := must.Get(pki.Issue(authority, template, time.Now(), time.Hour))(t)
	dir := t.TempDir()
	files := Cluster{CAFile: filepath.Join(dir, "ca.crt"), CertFile: filepath.Join(dir, "peer.crt"),
		KeyFile: filepath.Join(dir, "peer.key")}
	for path, text := range map[string][]byte{files.CAFile: authority.CertPEM, files.CertFile: peer.CertPEM, files.KeyFile: peer.KeyPEM} {
		must.Succeed(t, os.WriteFile(path, text, 0o600))
	}
	return files
}
