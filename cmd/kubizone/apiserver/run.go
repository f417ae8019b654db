// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	genericoptions "k8s.io/apiserver/pkg/server/options"

	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Run serves until ctx ends or a part fails. It returns nil if only ctx ended. The options must be completed and
// validated.
func (o *Options) Run(ctx context.Context) error {
	outer := ctx
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	// Bind first, so that a taken port fails before etcd starts.
	if err := o.bindPort(); err != nil {
		return err
	}
	defer func() {
		if o.SecureServing.Listener != nil {
			o.SecureServing.Listener.Close()
		}
	}()
	if err := o.findCertificate(ctx); err != nil {
		return nilIfEnded(outer, err)
	}

	etcd := *o.Etcd
	if o.Member.DataDir != "" {
		member, release, err := o.Member.startMember(ctx)
		if err != nil {
			return nilIfEnded(outer, err)
		}
		defer release()
		// A failed member stops the other parts.
		go func() {
			select {
			case <-member.Failed():
				fail(member.Err())
			case <-ctx.Done():
			}
		}()
		etcd.StorageConfig.Transport.ServerList = member.Endpoints()
	}

	err := o.serveAPI(ctx, &etcd)
	// Peers may need the member, although this program cannot read the store.
	peersNeedMember := errors.Is(err, ledger.ErrFormat) && o.Member.hasPeers()
	if peersNeedMember && ctx.Err() == nil {
		err = o.keepMember(ctx, err)
	}
	endedByItself := err == nil && outer.Err() == nil
	if endedByItself {
		return context.Cause(ctx)
	}
	return err
}

// serveAPI runs the ledger, the API and the sub-commands until outer ends or one of them fails. They stop in the order
// sub-commands, API, ledger.
func (o *Options) serveAPI(outer context.Context, etcd *genericoptions.EtcdOptions) error {
	ctx, fail := context.WithCancelCause(outer)
	defer fail(nil)
	traces, err := o.Traces.Open(ctx, "apiserver")
	if err != nil {
		return err
	}
	views := zoneview.NewSet(zoneview.ConfigForMemory(memory.Total()))
	server, err := apiserver.NewDelegated(ctx, apiserver.Delegated{
		ServerRun: o.ServerRun, Etcd: etcd, SecureServing: o.SecureServing, Authentication: o.Authentication,
		Authorization: o.Authorization,
		Audit:         o.Audit, Features: o.Features, CoreAPI: o.CoreAPI, Admission: o.Admission, Traces: traces,
		Zones: views, Fleet: o.Fleet,
		Budgets: o.Budgets, ACME: o.ACME, PeerCertFile: o.Member.Cluster.CertFile,
		HistoryRetention: &o.HistoryRetention,
	})
	if err != nil {
		return nilIfEnded(outer, err)
	}
	defer server.Close()

	// The ledger outlasts ctx, because pending requests need it.
	beyond, stopLedger := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := server.RunLedger(beyond)
		if err == nil && beyond.Err() == nil {
			err = errors.New("it ended by itself")
		}
		if err != nil {
			err = fmt.Errorf("ledger: %w", err)
			fail(err)
		}
		ended <- err
	}()

	// The API outlasts the sub-commands, which write their last outcomes.
	serving, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	besideEnded := make(chan error, 1)
	go func() {
		defer stopAPI()
		besideEnded <- o.runSubcommands(ctx, server, views)
	}()

	// The end of each part cancels ctx, and the others stop.
	err = server.Run(serving)
	fail(err)
	err = errors.Join(err, <-besideEnded)
	stopLedger()
	return errors.Join(err, <-ended)
}

func nilIfEnded(outer context.Context, err error) error {
	if outer.Err() != nil {
		return nil
	}
	return err
}

// bindPort opens the listener of the API. With shared ports (SO_REUSEPORT), upstream opens the listener.
func (o *Options) bindPort() error {
	at := net.JoinHostPort(o.SecureServing.BindAddress.String(), strconv.Itoa(o.SecureServing.BindPort))
	if o.SecureServing.Listener != nil || o.SecureServing.PermitPortSharing || o.SecureServing.PermitAddressSharing {
		return nil
	}
	listener, err := process.BindPort("--bind-address, --secure-port", at)
	if err != nil {
		return err
	}
	o.SecureServing.Listener = listener
	return nil
}
