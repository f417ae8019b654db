// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	etcd "go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// clusterToken must never change, because etcd derives the members' identifiers from it.
const clusterToken = "kubizone"

const peerDialTimeout = 2 * time.Second

// catchUpEntries is the number of log entries kept for slow members. A member further behind gets the whole store.
const catchUpEntries = 1000

const memberFile = "member"

type Cluster struct {
	// MemberName is this member's name in InitialCluster.
	MemberName string
	// InitialCluster lists all members for the first start, for example "a=https://10.0.0.1:2380,b=https://…".
	InitialCluster string
	// ListenPeer is the address for other members, for example "https://0.0.0.0:2380". The host must be an IP address.
	ListenPeer string
	// CertFile and KeyFile (PEM) identify this member. They are read again at each TLS handshake. The CA in CAFile must
	// sign only members, because a peer is accepted by any certificate of this CA.
	CertFile, KeyFile, CAFile string
}

// Validate returns an error that lists every invalid field by its flag, or nil.
func (c *Cluster) Validate() error {
	var wrong []error
	members, err := c.parseMembers()
	switch {
	case err != nil:
		wrong = append(wrong, fmt.Errorf("--etcd-initial-cluster %q: %w; want NAME=https://HOST:PORT for each member, with commas between",
			c.InitialCluster, err))
	case c.MemberName == "":
		wrong = append(wrong, errors.New("--etcd-member-name: must not be empty; in a StatefulSet it is the name of the pod"))
	case members[c.MemberName] == nil:
		wrong = append(wrong, fmt.Errorf("--etcd-member-name %s: --etcd-initial-cluster does not name it, only %s; add it there, "+
			"the same on every member", c.MemberName, strings.Join(memberNames(members), ", ")))
	}
	// etcd listens only at IP addresses.
	if listen, err := url.Parse(c.ListenPeer); err != nil || listen.Scheme != "https" || net.ParseIP(listen.Hostname()) == nil ||
		listen.Port() == "" || strings.Trim(listen.Path, "/") != "" {
		wrong = append(wrong, fmt.Errorf("--etcd-listen-peer %q: must be https://IP:PORT, "+
			"for all addresses of the pod https://0.0.0.0:2380", c.ListenPeer))
	}
	for _, file := range []struct{ flag, name string }{
		{"--etcd-peer-cert-file", c.CertFile}, {"--etcd-peer-key-file", c.KeyFile}, {"--etcd-peer-ca-file", c.CAFile},
	} {
		if file.name == "" {
			wrong = append(wrong, fmt.Errorf("%s: must not be empty: peers authenticate each other by it", file.flag))
		} else if _, err := os.Stat(file.name); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file.flag, err))
		}
	}
	return errors.Join(wrong...)
}

// parseMembers returns the peer URLs of InitialCluster by member. Each member must have exactly one, an https URL of
// its own.
func (c *Cluster) parseMembers() (types.URLsMap, error) {
	members, err := types.NewURLsMap(c.InitialCluster)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, errors.New("it names no member")
	}
	seen := map[string]string{}
	for _, member := range memberNames(members) {
		urls := members[member]
		if len(urls) != 1 || urls[0].Scheme != "https" {
			return nil, fmt.Errorf("member %q must have one URL, and an https one", member)
		}
		if other, twice := seen[urls[0].Host]; twice {
			return nil, fmt.Errorf("members %q and %q have one URL", other, member)
		}
		seen[urls[0].Host] = member
	}
	return members, nil
}

func memberNames(members types.URLsMap) []string { return slices.Sorted(maps.Keys(members)) }

func (c *Cluster) tls() transport.TLSInfo {
	return transport.TLSInfo{
		CertFile: c.CertFile, KeyFile: c.KeyFile, TrustedCAFile: c.CAFile, ClientCertAuth: true,
		// After a restart of a pod, DNS may still return the old address. The CA signs only members anyway.
		SkipClientSANVerify: true,
	}
}

// joinCluster configures etcd for the cluster. At the first start it asks the other members whether the cluster runs
// already. An empty member of a running cluster may get a *LostMemberError.
func (c *Cluster) joinCluster(to *etcd.Config, dir *Dir, log *zap.Logger) error {
	if err := c.Validate(); err != nil {
		return err
	}
	members, _ := c.parseMembers()
	listen, _ := url.Parse(c.ListenPeer)
	to.Name, to.InitialClusterToken, to.InitialCluster = c.MemberName, clusterToken, members.String()
	to.ListenPeerUrls, to.AdvertisePeerUrls = []url.URL{*listen}, members[c.MemberName]
	to.PeerTLSInfo = c.tls()
	// With the short timeouts of a sole member, a slow network would cause elections.
	defaults := etcd.NewConfig()
	to.SnapshotCatchUpEntries = catchUpEntries
	to.TickMs, to.ElectionMs = defaults.TickMs, defaults.ElectionMs
	if hasLog(to.Dir) {
		return nil // the stored list of members counts, not the flags (E6)
	}

	// A first start. If no member answers, all members start for the first time.
	formed, err := c.findCluster(members, log)
	if err != nil || formed == nil {
		return err
	}
	return c.joinFormed(to, dir, members, formed)
}

func hasLog(etcdDir string) bool { return wal.Exist(filepath.Join(etcdDir, "member", "wal")) }

// findCluster asks the other members for the cluster. It returns nil if no member answers, as at the first start of all
// members.
func (c *Cluster) findCluster(members types.URLsMap, log *zap.Logger) (*membership.RaftCluster, error) {
	transport, err := rafthttp.NewRoundTripper(c.tls(), peerDialTimeout)
	if err != nil {
		return nil, fmt.Errorf("--etcd-peer-cert-file, --etcd-peer-key-file, --etcd-peer-ca-file: %w", err)
	}
	var peers []string
	for _, member := range memberNames(members) {
		if member != c.MemberName {
			peers = append(peers, members[member].StringSlice()...)
		}
	}
	formed, err := etcdserver.GetClusterFromRemotePeers(log, peers, transport)
	if err != nil {
		return nil, nil // etcd's error says only that no peer answered
	}
	return formed, nil
}

// joinFormed configures the first start of a member in a running cluster. A member that has lost its data gets a
// *LostMemberError, because an empty member could vote a second time in a raft term.
func (c *Cluster) joinFormed(config *etcd.Config, dir *Dir, members types.URLsMap, formed *membership.RaftCluster) error {
	initial, err := membership.NewClusterFromURLsMap(zap.NewNop(), clusterToken, members)
	if err != nil {
		return fmt.Errorf("--etcd-initial-cluster: %w", err)
	}
	// The peer URL identifies a member, since a member that never started has no name.
	mine := members[c.MemberName].StringSlice()
	index := slices.IndexFunc(formed.Members(), func(m *membership.Member) bool { return slices.Equal(m.PeerURLs, mine) })
	if index < 0 {
		return &LostMemberError{Dir: dir.Path(), Member: c.MemberName}
	}
	self := formed.Members()[index]
	if len(self.ClientURLs) > 0 { // published at the member's first start
		return &LostMemberError{Dir: dir.Path(), Member: c.MemberName, Known: true}
	}
	if self.ID == initial.MemberByName(c.MemberName).ID { // an initial member that has never started
		return nil
	}

	// This member was added by Replace: join with the addresses that the cluster has now.
	urls := types.URLsMap{}
	for _, m := range formed.Members() {
		// A member that was added and never started has no name, so its ID serves.
		member := m.Name
		switch {
		case m.ID == self.ID:
			member = c.MemberName
		case member == "":
			member = m.ID.String()
		}
		if urls[member], err = types.NewURLs(m.PeerURLs); err != nil {
			return fmt.Errorf("member %s of the cluster: %w", member, err)
		}
	}
	config.ClusterState, config.InitialCluster = etcd.ClusterStateFlagExisting, urls.String()
	return nil
}

// checkMember returns an error if the directory has the data of another member than name. A sole member has the name
// "". A directory without data fits each name.
func (d *Dir) checkMember(name string) error {
	if !hasLog(filepath.Join(d.path, etcdDir)) {
		return nil
	}
	switch have, err := d.readMember(); {
	case err != nil:
		return err
	case have == name:
		return nil
	case have == "":
		return fmt.Errorf("data-dir %s holds a store of one member, which cannot join others as it is: "+
			"take a backup of it and restore that for --etcd-member-name %s, or leave out --etcd-member-name", d.path, name)
	case name == "":
		return fmt.Errorf("data-dir %s holds member %s of a cluster, which starts with --etcd-member-name and --etcd-initial-cluster only",
			d.path, have)
	default:
		return fmt.Errorf("data-dir %s holds member %s of a cluster, not %s; give each member its own directory", d.path, have, name)
	}
}

func (d *Dir) readMember() (name string, err error) {
	text, err := os.ReadFile(filepath.Join(d.path, memberFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unwritable(d.path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// SetMember stores the name of the directory's member, "" for a sole member.
func (d *Dir) SetMember(name string) error {
	path := filepath.Join(d.path, memberFile)
	// A sole member has no file.
	if name == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unwritable(d.path, err)
		}
		return nil
	}
	return d.writeLine(path, name)
}

// LostMemberError is returned for a member whose directory has lost its data. Known is true if the cluster still
// has a member of this name.
type LostMemberError struct {
	Dir, Member string
	Known       bool
}

func (e *LostMemberError) Error() string {
	is := "the cluster was created without it"
	if e.Known {
		is = "the cluster still counts the member of this name that had data"
	}
	return fmt.Sprintf("data-dir %s is empty and member %s cannot start without data: %s; if its data is lost, run on a member that is "+
		"alive: "+
		"kubizone replace-member %s --data-dir DIR --etcd-initial-cluster …, then start this one again", e.Dir, e.Member, is, e.Member)
}
