// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bindagent/client"
	"kubi.zone/kubizone/pkg/bindagent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/dns/rdata"
	keys "kubi.zone/kubizone/pkg/transfer"
)

// UpdateConfig of an Updater.
type UpdateConfig struct {
	// Instances are the servers of the class at the moment of the call. Each has a key, by which it takes updates.
	Instances func() ([]Instance, error)
	// Dial connects over TCP; nil: to what dial.New(false) does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Updater delivers zones to instances that are primaries each (the mode Update): agents make the zones, dynamic updates
// write what is in them. The serial of a zone at an instance is that instance's own, as updates make it.
type Updater struct {
	config UpdateConfig

	mu      sync.Mutex
	writers map[writerKey]*rfc2136.Provider
}

// writerKey is what an instance's provider is made from: it is made anew when one of them changes.
type writerKey struct {
	name string
	at   netip.AddrPort
	key  *keys.Key
}

var _ delivery.Provider = (*Updater)(nil)

// NewUpdater sends nothing.
func NewUpdater(config UpdateConfig) *Updater {
	return &Updater{config: config, writers: map[writerKey]*rfc2136.Provider{}}
}

// readWriters asks for the instances, and has the provider of each that stays.
func (u *Updater) readWriters() (instances []Instance, writers []*rfc2136.Provider, err error) {
	all, err := u.config.Instances()
	if err != nil {
		return nil, nil, delivery.Errorf(delivery.ReasonServerError, "bind9: the instances of the class cannot be read: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	kept := map[writerKey]*rfc2136.Provider{}
	for _, instance := range all {
		at := writerKey{instance.Name, instance.DNS, instance.Key}
		writer := u.writers[at]
		if writer == nil && instance.DNS.IsValid() && instance.Key != nil {
			// The fleet's servers are the class's own, so what others wrote in the place of a zone's data goes.
			if writer, err = rfc2136.New(rfc2136.Config{Server: instance.DNS.String(), Key: *instance.Key, Replace: true, Dial: u.config.Dial}); err != nil {
				return nil, nil, err
			}
		}
		if writer != nil {
			kept[at] = writer
		}
		instances, writers = append(instances, instance), append(writers, writer)
	}
	u.writers = kept
	return instances, writers, nil
}

// outcome is what became of a plan at one instance.
type outcome struct {
	report delivery.Report
	drift  delivery.Drift
	err    error
}

// eachInstance works at all instances at the same time, and one after the other asks the fence.
func (u *Updater) eachInstance(ctx context.Context, fence delivery.Fence, do func(context.Context, Instance, *rfc2136.Provider, delivery.Fence) outcome) ([]Instance, []outcome, error) {
	instances, writers, err := u.readWriters()
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(instances, func(m Instance) bool { return !m.Leaving }) {
		return nil, nil, noInstances()
	}
	var mu sync.Mutex
	var lost error
	ask := func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if lost == nil {
			lost = fence(ctx)
		}
		return lost
	}
	outcomes := make([]outcome, len(instances))
	var all sync.WaitGroup
	for i, instance := range instances {
		all.Go(func() {
			if writers[i] == nil {
				outcomes[i].err = delivery.Errorf(delivery.ReasonServerUnreachable, "%s has no address or no key yet", instance.Name)
				return
			}
			outcomes[i] = do(ctx, instance, writers[i], ask)
		})
	}
	all.Wait()
	if lost != nil {
		return nil, nil, lost
	}
	return instances, outcomes, ctx.Err()
}

// Deliver writes the plan at every instance. At one that has no such zone it is made first, and written whole.
func (u *Updater) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	instances, outcomes, err := u.eachInstance(ctx, fence, func(ctx context.Context, instance Instance, writer *rfc2136.Provider, fence delivery.Fence) outcome {
		if instance.Leaving {
			return outcome{err: u.removeZone(ctx, instance, writer, plan, fence)}
		}
		report, err := writer.Deliver(ctx, plan, fence)
		if lacksZone(err) {
			if err = u.makeZone(ctx, instance, plan, fence); err == nil {
				whole := plan
				whole.Changes = nil
				report, err = writer.Deliver(ctx, whole, fence)
			}
		}
		return outcome{report: report, err: err}
	})
	if err != nil {
		return delivery.Report{}, err
	}
	report := delivery.Report{Confirmed: plan.Serial, Proven: true}
	failures := map[delivery.RRsetKey]delivery.Failure{}
	for i, instance := range instances {
		o := outcomes[i]
		if instance.Leaving && o.err == nil {
			continue // it has the zone no more, and no row
		}
		row := delivery.Server{Name: instance.Name, Serial: o.report.Confirmed, Err: asError(instance, o.err), At: time.Now()}
		report.Servers = append(report.Servers, row)
		if row.Err != nil || o.report.Confirmed != plan.Serial {
			report.Confirmed = 0
		}
		report.Proven = report.Proven && o.report.Proven
		report.Remains = report.Remains || o.report.Remains
		for _, failure := range o.report.Failed {
			failures[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}] = failure
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(failures), delivery.RRsetKey.Compare) {
		report.Failed = append(report.Failed, failures[key])
	}
	return report, nil
}

func lacksZone(err error) bool {
	var e *delivery.Error
	return errors.As(err, &e) && e.Reason == delivery.ReasonZoneNotFound
}

// asError is an error of one instance, with its name.
func asError(instance Instance, err error) *delivery.Error {
	var e *delivery.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return delivery.Errorf(delivery.ReasonServerError, "%s: the update was not finished: %w", instance.Name, err)
	case strings.Contains(e.Message, instance.Name):
		return e
	}
	named := *e
	named.Message = instance.Name + ": " + e.Message
	return &named
}

// makeZone has the agent make the zone with its SOA and name servers: BIND loads none without.
func (u *Updater) makeZone(ctx context.Context, instance Instance, plan delivery.Plan, fence delivery.Fence) error {
	asked := protocol.CreateZone{ZoneType: protocol.Primary, UpdateKeyName: strings.TrimSuffix(instance.Key.Name, ".")}
	config := &asked.ZoneConfig
	config.AllowTransfer = []string{"key " + asked.UpdateKeyName}
	var soa protocol.SOA
	var serial, refresh, retry, expire, negative uint32
	if len(plan.SOA.Data) != 1 {
		return delivery.Errorf(delivery.ReasonServerError, "the zone has no SOA")
	}
	if _, err := fmt.Sscan(plan.SOA.Data[0], &soa.PrimaryNS, &soa.AdminEmail, &serial, &refresh, &retry, &expire, &negative); err != nil {
		return delivery.Errorf(delivery.ReasonServerError, "SOA %q: %w", plan.SOA.Data[0], err)
	}
	soa.Serial, soa.Refresh, soa.Retry, soa.Expire, soa.NegativeTTL = &serial, &refresh, &retry, &expire, &negative
	config.SOA = &soa
	for set := range plan.All {
		if set.Name == plan.Zone && set.Type == rdata.NS {
			config.TTL, config.NameServers = &set.TTL, set.Data
		}
	}
	if config.TTL == nil {
		return delivery.Errorf(delivery.ReasonValidationFailed, "the zone has no name servers, and BIND loads none without; add spec.nameServers or an NS Record at the apex")
	}
	// BIND loads the zone only with the addresses of name servers inside it.
	for set := range plan.All {
		if (set.Type == rdata.A || set.Type == rdata.AAAA) && slices.Contains(config.NameServers, set.Name.String()) {
			for _, data := range set.Data {
				config.Records = append(config.Records, protocol.Record{Name: set.Name.String(), Type: set.Type.String(), Value: data, TTL: &set.TTL})
			}
		}
	}
	return u.askAgent(instance, func(agent *client.Client) error { return agent.Ensure(ctx, plan.Zone, asked, client.Fence(fence)) })
}

// askAgent asks the agent of an instance.
func (u *Updater) askAgent(instance Instance, do func(*client.Client) error) error {
	if instance.Agent == nil {
		return delivery.Errorf(delivery.ReasonServerUnreachable, "%s has no agent that could make the zone", instance.Name)
	}
	err := do(instance.Agent)
	var said *client.Error
	if errors.As(err, &said) {
		return explainAgent(instance, said)
	}
	return err
}

// Withdraw removes what is the zone's from every instance, and the zone where nothing of others is left in it.
func (u *Updater) Withdraw(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	instances, outcomes, err := u.eachInstance(ctx, fence, func(ctx context.Context, instance Instance, writer *rfc2136.Provider, fence delivery.Fence) outcome {
		return outcome{err: u.removeZone(ctx, instance, writer, plan, fence)}
	})
	var none *delivery.Error
	if errors.As(err, &none) && none.Reason == delivery.ReasonInvalidConfiguration {
		return delivery.Report{}, nil // no instance is left
	}
	if err != nil {
		return delivery.Report{}, err
	}
	for i, instance := range instances {
		if e := asError(instance, outcomes[i].err); e != nil {
			return delivery.Report{}, e
		}
	}
	return delivery.Report{}, nil
}

func (u *Updater) removeZone(ctx context.Context, instance Instance, writer *rfc2136.Provider, plan delivery.Plan, fence delivery.Fence) error {
	_, err := writer.Withdraw(ctx, plan, fence)
	if lacksZone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	// BIND keeps the name servers of the zone, and their addresses, until the zone goes.
	left, err := writer.Verify(ctx, plan)
	if err != nil {
		return err
	}
	if len(left.Foreign)+len(left.Differing) > 0 || instance.Agent == nil {
		return nil
	}
	return u.askAgent(instance, func(agent *client.Client) error { return agent.Remove(ctx, plan.Zone, client.Fence(fence)) })
}

// Verify compares at every instance; what one of them lacks is missing.
func (u *Updater) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	instances, outcomes, err := u.eachInstance(ctx, func(context.Context) error { return nil }, func(ctx context.Context, instance Instance, writer *rfc2136.Provider, _ delivery.Fence) outcome {
		if instance.Leaving {
			return outcome{}
		}
		drift, err := writer.Verify(ctx, plan)
		if lacksZone(err) {
			// All of it is missing there, and the next delivery makes the zone.
			drift, err = delivery.Drift{Missing: slices.Collect(plan.All)}, nil
		}
		return outcome{drift: drift, err: err}
	})
	if err != nil {
		return delivery.Drift{}, err
	}
	var all delivery.Drift
	for i, instance := range instances {
		o := outcomes[i]
		if instance.Leaving {
			continue
		}
		if e := asError(instance, o.err); e != nil {
			return delivery.Drift{}, e
		}
		all.Servers = append(all.Servers, delivery.Server{Name: instance.Name, Serial: plan.Serial, At: time.Now()})
		for _, lists := range [][2]*[]delivery.RRset{{&all.Missing, &o.drift.Missing}, {&all.Differing, &o.drift.Differing}, {&all.Unfit, &o.drift.Unfit}, {&all.Foreign, &o.drift.Foreign}} {
			*lists[0] = mergeSets(*lists[0], *lists[1])
		}
	}
	return all, nil
}

// mergeSets has each RRset of both once, in canonical order.
func mergeSets(x, y []delivery.RRset) []delivery.RRset {
	merged := append(x, y...)
	slices.SortStableFunc(merged, func(a, b delivery.RRset) int { return a.Key().Compare(b.Key()) })
	return slices.CompactFunc(merged, func(a, b delivery.RRset) bool { return a.Key() == b.Key() })
}

// Health asks each instance by DNS, with its key.
func (u *Updater) Health(ctx context.Context) error {
	instances, outcomes, err := u.eachInstance(ctx, func(context.Context) error { return nil }, func(ctx context.Context, instance Instance, writer *rfc2136.Provider, _ delivery.Fence) outcome {
		if instance.Leaving {
			return outcome{}
		}
		return outcome{err: writer.Health(ctx)}
	})
	if err != nil {
		return err
	}
	for i, instance := range instances {
		if e := asError(instance, outcomes[i].err); outcomes[i].err != nil && !errors.Is(outcomes[i].err, delivery.ErrNotProven) {
			return e
		}
	}
	for i := range instances {
		if outcomes[i].err != nil {
			return outcomes[i].err
		}
	}
	return nil
}

// Abilities implements delivery.Provider: a transfer lists what an instance holds, and name servers at the apex stay
// those that the zone was made with.
func (u *Updater) Abilities() delivery.Abilities {
	return delivery.Abilities{Lists: true, OwnApexNS: true}
}

// Close lets go of the instances' providers.
func (u *Updater) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []error
	for _, writer := range u.writers {
		all = append(all, writer.Close())
	}
	clear(u.writers)
	return errors.Join(all...)
}
