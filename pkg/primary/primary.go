// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"kubi.zone/kubizone/pkg/primary/updates"
)

type Primary struct {
	config   Config
	classes  *classes
	tcp      *tcpServer
	notifier *notifier
	pair     pair
	// secure has no sockets without Config.ListenTLS. BIND 9.18 asks there for the SOA by UDP, and transfers over TLS
	// when that is refused.
	secure   pair
	log      klog.Logger
	counters *counters

	stopping chan struct{}
	stop     func()
}

// New returns a Primary with open listeners. If config is invalid, the error contains all faults. The caller must call
// Run or Close.
func New(config Config) (*Primary, error) {
	c, keys, err := config.completeConfig()
	if err != nil {
		return nil, fmt.Errorf("primary: %w", err)
	}
	p := &Primary{config: c, log: c.Logger.WithName("primary"), counters: newCounters(), stopping: make(chan struct{})}
	p.classes = newClasses(&c, keys, p.log)
	queue := updates.NewQueue(c.Updates, c.Clock, p.log)
	dnsServer := &server{responder: &responder{p.classes, c.Clock}, counters: p.counters, updates: queue, log: p.log}
	p.tcp = newTCPServer(dnsServer, &c, p.stopping)
	p.stop = sync.OnceFunc(func() { close(p.stopping) })
	if p.pair, err = listenPair(c.Listen); err != nil {
		return nil, err
	}
	if c.ListenTLS.IsValid() {
		if p.secure, err = listenPair(c.ListenTLS); err != nil {
			p.pair.close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	p.notifier = newNotifier(&c, p.classes, p.counters, p.log, p.Addr())
	return p, nil
}

// AddClass adds a class. The Membership must be complete, because secondaries delete zones that are missing in the
// catalog.
func (p *Primary) AddClass(config ClassConfig, membership Membership) (*Class, error) {
	return p.classes.addClass(config, membership)
}

// SetUpdateKeys replaces the update keys. Their names must differ. The first call sleeps up to a second, because a
// message signed in the second of startup may be a replay.
func (p *Primary) SetUpdateKeys(keys []*updates.Key) error {
	time.Sleep(min(time.Second, p.tcp.updates.AcceptsFrom().Sub(p.config.Clock())))
	return p.classes.setUpdaters(keys)
}

func (p *Primary) HasClassKey(keyName string) bool {
	return p.classes.registry.Load().byKey[keyName] != nil
}

func (p *Primary) Addr() netip.AddrPort { return p.pair.at }

// TLSAddr returns the address for transfers over TLS, zero if there is none.
func (p *Primary) TLSAddr() netip.AddrPort { return p.secure.at }

func (p *Primary) pairs() []pair {
	if p.secure.tcp == nil {
		return []pair{p.pair}
	}
	return []pair{p.pair, p.secure}
}

func (p *Primary) Stats() Stats {
	s := p.counters.readStats()
	s.Zones, s.NotifyFaults = p.classes.countServed(), p.notifier.countFaults()
	return s
}

func (p *Primary) Close() error {
	p.stop()
	for _, pair := range p.pairs() {
		pair.close()
	}
	return nil
}

// Run serves until ctx ends or a listener fails. It then gives transfers and updates StopTimeout to finish, and waits
// for all goroutines. It returns the listener's error, or nil if ctx ended. Call Run only once.
func (p *Primary) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Connections and updates outlive ctx by StopTimeout.
	workCtx, cutWork := context.WithCancel(context.WithoutCancel(ctx))
	defer cutWork()

	// Start the listeners and loops. A listener that fails cancels ctx with its error.
	var listeners, conns sync.WaitGroup
	for _, pair := range p.pairs() {
		var arrival sync.Mutex
		for range udpReaders {
			listeners.Go(func() {
				if err := p.tcp.serveUDP(ctx, workCtx, pair.udp, &arrival); err != nil {
					cancel(err)
				}
			})
		}
		listeners.Go(func() {
			if err := p.tcp.acceptConnections(ctx, workCtx, pair.tcp, pair == p.secure, &conns); err != nil {
				cancel(err)
			}
		})
	}
	for _, pair := range p.pairs() {
		p.log.Info("Serving DNS", "address", pair.at.String(), "tls", pair == p.secure, "views", p.config.Views)
	}
	listeners.Go(func() {
		if p.config.Reachable != nil {
			p.config.Reachable(ctx)
		}
		p.notifier.runNotifier(ctx)
	})
	listeners.Go(func() { p.classes.publishCatalogs(ctx, p.config.Clock) })

	// Stop reading, and wait until no listener starts new work.
	<-ctx.Done()
	p.stop()
	for _, pair := range p.pairs() {
		pair.tcp.Close()
		pair.udp.SetReadDeadline(time.Unix(1, 0)) // the socket stays open to answer updates in progress
	}
	p.tcp.wakeConns()
	listeners.Wait()

	// Let the work in progress finish, then cut the rest.
	ended := make(chan struct{})
	go func() {
		p.tcp.updateWorkers.Wait()
		for _, pair := range p.pairs() {
			pair.udp.Close()
		}
		conns.Wait()
		close(ended)
	}()
	timer := time.NewTimer(p.config.StopTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		p.log.Info("Cutting transfers and updates that outlast the stop", "after", p.config.StopTimeout)
		cutWork()
		p.tcp.closeConns()
		<-ended
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
