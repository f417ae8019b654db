// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/etcd/embed"
)

const aloneTimeout = 2 * time.Minute

// MemberOptions configure an etcd member in this process, alone or in Cluster.
type MemberOptions struct {
	DataDir    string
	QuotaBytes int64
	Cluster    embed.Cluster
}

func (o *MemberOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "etcd-data-dir", o.DataDir, "Directory of an etcd that runs in this process, instead of --etcd-servers; "+
		"created if missing.")
	flags.Int64Var(&o.QuotaBytes, "etcd-quota-bytes", o.QuotaBytes, "Quota of the etcd of --etcd-data-dir, above which it refuses "+
		"writes; 0 means 8 GiB.")
	flags.StringVar(&o.Cluster.MemberName, "etcd-member-name", o.Cluster.MemberName, "Name of this member among several of "+
		"--etcd-data-dir: in a StatefulSet the name of the pod.")
	flags.StringVar(&o.Cluster.InitialCluster, "etcd-initial-cluster", o.Cluster.InitialCluster, "All members, the same on each of them, "+
		"as NAME=https://HOST:PORT with commas between. Without it --etcd-data-dir is the only one.")
	flags.StringVar(&o.Cluster.ListenPeer, "etcd-listen-peer", o.Cluster.ListenPeer, "Where this member listens for the others, "+
		"as https://IP:PORT.")
	flags.StringVar(&o.Cluster.CertFile, "etcd-peer-cert-file", o.Cluster.CertFile, "Certificate shown to the other members, "+
		"as server and as client.")
	flags.StringVar(&o.Cluster.KeyFile, "etcd-peer-key-file", o.Cluster.KeyFile, "Private key of --etcd-peer-cert-file.")
	flags.StringVar(&o.Cluster.CAFile, "etcd-peer-ca-file", o.Cluster.CAFile, "Authority that signs the members' certificates and no "+
		"others: a client with a certificate of it is a member.")
}

func (o *MemberOptions) Validate() []error {
	if o.QuotaBytes < 0 {
		return []error{fmt.Errorf("--etcd-quota-bytes %d: must not be negative; 0 means 8 GiB", o.QuotaBytes)}
	}
	if !o.hasPeers() {
		return nil
	}
	if o.DataDir == "" {
		return []error{errors.New("--etcd-member-name, --etcd-initial-cluster, --etcd-listen-peer and --etcd-peer-* go with " +
			"--etcd-data-dir: they name the cluster that the etcd in this process is a member of")}
	}
	if err := o.Cluster.Validate(); err != nil {
		return []error{err}
	}
	return nil
}

func (o *MemberOptions) hasPeers() bool { return o.Cluster != (embed.Cluster{}) }

// startMember starts the etcd member in --etcd-data-dir. A member alone has to start within aloneTimeout. With peers,
// startMember waits until a quorum runs or ctx ends. release stops the member.
func (o *MemberOptions) startMember(ctx context.Context) (_ *embed.Member, release func(), err error) {
	dir, err := embed.OpenDir(o.DataDir, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("--etcd-data-dir: %w", err)
	}
	config := embed.Config{
		Dir:        dir,
		QuotaBytes: o.QuotaBytes,
		Log:        func(line string) { klog.Warningf("etcd: %s", line) },
		Verbose:    klog.V(4).Enabled(),
	}
	if o.hasPeers() {
		config.Cluster = &o.Cluster
		// No timeout, because restarting members could miss each other forever.
		klog.Infof("Waiting until more than half of the members of etcd run: %s", o.Cluster.InitialCluster)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, aloneTimeout, fmt.Errorf("--etcd-data-dir %s: etcd did not start within %s; "+
			"-v=4 shows what it does", dir.Path(), aloneTimeout))
		defer cancel()
	}
	member, err := embed.Start(ctx, config)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return member, func() {
		member.Stop()
		dir.Close()
	}, nil
}
