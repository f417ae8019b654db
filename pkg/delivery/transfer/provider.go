// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/transfer"
)

// Members are the zones of one class at the primary, which hands them out, lists them in the class's catalog zone and
// tells the secondaries of them. It knew them all before the Provider was made: a catalog without some of them would
// have the secondaries remove those.
type Members interface {
	// Join takes a zone in, or under another name. An error: another zone of the class has the name.
	Join(uid string, zone name.Name) error
	// Leave takes it out.
	Leave(uid string)
	// Serves says under which name it is in, zero: not at all, and at which serial it is handed out, 0: not yet.
	Serves(uid string) (zone name.Name, at serial.Serial)
	// Announce tells the secondaries again.
	Announce(uid string)
}

// Secondary is a name server that is waited for.
type Secondary struct {
	// Name is what the class calls it.
	Name string
	Addr netip.AddrPort
	// Key signs what it is asked and has to sign what it answers; nil: neither.
	Key *transfer.Key
}

// Config of a Provider.
type Config struct {
	Members     Members
	Secondaries []Secondary
	// Catalog is the catalog zone of the class, which Health asks for; zero: there is none.
	Catalog name.Name
	// Dial connects over UDP; nil: to what dial.New(false) does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Provider delivers zones to the secondaries of one class.
type Provider struct {
	config Config
}

var _ delivery.Provider = (*Provider)(nil)

// ParseAddress reads an address of a class: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53", "2001:db8::1". The port
// is 53 where none is given.
func ParseAddress(text string) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(text); err == nil && at.Port() != 0 {
		return at, nil
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("address %q: write an IP address with or without a port, like 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:53", text)
	}
	return netip.AddrPortFrom(addr, 53), nil
}

// New checks the configuration; its error is a *delivery.Error. It asks nobody.
func New(config Config) (*Provider, error) {
	for i, s := range config.Secondaries {
		if !s.Addr.IsValid() || s.Addr.Port() == 0 {
			return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "transfer.secondaries[%d].address: %q is no address; write one like 192.0.2.1 or [2001:db8::1]:53", i, s.Name)
		}
	}
	if config.Dial == nil {
		config.Dial = dial.New(false).DialContext
	}
	return &Provider{config: config}, nil
}

// Deliver puts the zone into the class and waits a moment for the secondaries to have it: longer would keep a worker
// from the other zones of a class of which one secondary is down.
func (p *Provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if zone, _ := p.config.Members.Serves(plan.UID); zone != plan.Zone {
		if err := fence(ctx); err != nil {
			return delivery.Report{}, err
		}
		if err := p.config.Members.Join(plan.UID, plan.Zone); err != nil {
			return delivery.Report{}, delivery.Errorf(delivery.ReasonConflict, "%s: %w", plan.Zone, err)
		}
	}
	rows := p.ask(ctx, plan, true)
	report := delivery.Report{Servers: rows}
	if err := ctx.Err(); err != nil {
		return report, err
	}
	report.Confirmed = plan.Serial
	for _, row := range rows {
		if row.Err != nil && row.Err.Reason == delivery.ReasonSerialBehind {
			return delivery.Report{Servers: rows}, row.Err
		}
		if row.Err != nil || plan.Serial.Ahead(row.Serial) || row.Serial == 0 {
			report.Confirmed = 0
		}
	}
	if report.Confirmed == 0 {
		p.config.Members.Announce(plan.UID) // what it was told may have been lost
	}
	return report, nil
}

// Withdraw takes the zone out of the class. The secondaries that follow its catalog remove it by themselves.
func (p *Provider) Withdraw(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if zone, _ := p.config.Members.Serves(plan.UID); zone.IsZero() {
		return delivery.Report{}, ctx.Err()
	}
	if err := fence(ctx); err != nil {
		return delivery.Report{}, err
	}
	p.config.Members.Leave(plan.UID)
	return delivery.Report{}, nil
}

// Verify asks each secondary once. What else it has of a zone whose serial it has is what it fetched from the primary.
func (p *Provider) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	if len(p.config.Secondaries) == 0 {
		return delivery.Drift{}, delivery.ErrCannotList
	}
	drift := delivery.Drift{Servers: p.ask(ctx, plan, false)}
	return drift, ctx.Err()
}

// Health asks each secondary for the SOA of the catalog, or of the root where the class has none: one that answers at
// all is there.
func (p *Provider) Health(ctx context.Context) error {
	errs := make([]*delivery.Error, len(p.config.Secondaries))
	p.each(func(i int, s Secondary) {
		zone := p.config.Catalog
		if zone.IsZero() {
			zone = name.Root
		}
		if seen := p.probe(ctx, s, zone, patience); seen.err != nil && seen.err.Reason != delivery.ReasonZoneNotFound {
			errs[i] = seen.err
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Close lets go of nothing: the zones stay in the class, because a provider is made anew with each change of it.
func (p *Provider) Close() error { return nil }

func (p *Provider) each(do func(i int, s Secondary)) {
	var all sync.WaitGroup
	for i, s := range p.config.Secondaries {
		all.Go(func() { do(i, s) })
	}
	all.Wait()
}

// ask has a row for each secondary, as it is at last: with wait each is asked again until it has the serial or the
// moment is over.
func (p *Provider) ask(ctx context.Context, plan delivery.Plan, wait bool) []delivery.Server {
	limit := follow
	if plan.CallTimeout != 0 {
		limit = min(limit, plan.CallTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows := make([]delivery.Server, len(p.config.Secondaries))
	p.each(func(i int, s Secondary) {
		ahead := 0
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			seen := p.probe(ctx, s, plan.Zone, attempt)
			now := time.Now()
			if ctx.Err() == nil || rows[i].At.IsZero() {
				rows[i] = delivery.Server{Name: s.Name, Serial: seen.serial, Err: seen.err, At: now}
			}
			switch {
			case ctx.Err() != nil:
				return
			case seen.err == nil && p.isAhead(plan, seen.serial):
				if ahead++; ahead == 2 {
					rows[i].Err = serialBehind(s, plan, seen)
					return
				}
			case seen.err == nil && !plan.Serial.Ahead(seen.serial):
				return
			case !wait && seen.err == nil:
				return
			case seen.err != nil && (!wait || !seen.passing):
				return
			default:
				ahead = 0
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
	return rows
}

// isAhead: no serial of the zone is as far as that, not even one newer than the plan's.
func (p *Provider) isAhead(plan delivery.Plan, at serial.Serial) bool {
	_, served := p.config.Members.Serves(plan.UID)
	return at.Ahead(plan.Serial) && (served == 0 || at.Ahead(served))
}

func serialBehind(s Secondary, plan delivery.Plan, seen seen) *delivery.Error {
	e := delivery.Errorf(delivery.ReasonSerialBehind, "%s has serial %d of %s, which is ahead of %d: it takes nothing before the zone's serial has passed that", s.Name, seen.serial, plan.Zone, plan.Serial)
	if s.Key == nil {
		e.Message += "; its answers are not signed, so raise spec.minimumSerial yourself, or give it a key"
		return e
	}
	e.Code = "TSIG"
	return e
}
