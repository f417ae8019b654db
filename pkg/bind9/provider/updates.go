// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
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

	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/dns/rdata"
	keys "kubi.zone/kubizone/pkg/dns/transfer"
)

type UpdateConfig struct {
	// Instances is as in Config, each with a key for updates and transfers.
	Instances func(known []string) ([]Instance, error)
	// Dial connects over TCP; nil means dial.New(false).
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Updater delivers zones to BIND servers by dynamic updates (mode Update of a DNSClass). It writes to each primary. All
// other instances are secondaries, each of a single primary.
type Updater struct {
	config UpdateConfig

	mu      sync.Mutex
	writers map[writerKey]*rfc2136.Provider
	// notifyLists has the secondaries that a primary is configured to notify about a zone.
	notifyLists map[zoneAt]string
	// provenPrimaries has the primary whose content a secondary was last seen to have. While the secondary transfers
	// from this primary, equal serials confirm the delivery. Otherwise the content is compared.
	provenPrimaries map[zoneAt]string
	// behindSince is when a secondary began to lack its primary's content. After notifyTime the secondary has to
	// transfer the whole zone again.
	behindSince map[zoneAt]time.Time
	notifyTime  time.Duration
}

type writerKey struct {
	name string
	at   netip.AddrPort
	key  *keys.Key
}

var _ delivery.Provider = (*Updater)(nil)

func NewUpdater(config UpdateConfig) *Updater {
	return &Updater{config: config, writers: map[writerKey]*rfc2136.Provider{}, notifyLists: map[zoneAt]string{},
		provenPrimaries: map[zoneAt]string{}, behindSince: map[zoneAt]time.Time{}, notifyTime: notifyTime}
}

type target struct {
	Instance
	writer *rfc2136.Provider
}

// readTargets returns the class's instances with a connection for updates each. Connections of other instances are
// dropped. An instance without an address, key or connection has no writer.
func (u *Updater) readTargets(known []string) ([]target, error) {
	all, err := u.config.Instances(known)
	if err != nil {
		return nil, delivery.Errorf(delivery.ReasonServerError, "bind9: the instances of the class cannot be read: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()

	kept := map[writerKey]*rfc2136.Provider{}
	targets := make([]target, len(all))
	for i, instance := range all {
		if !instance.waits() && instance.Key == nil {
			instance.Err = delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s has no TSIG key, by which it would take updates; "+
				"name a Secret with one in external.tsigSecretName of the Bind9Instance", instance.Name)
		}

		targets[i].Instance = instance
		if instance.waits() {
			continue
		}

		at := writerKey{instance.Name, instance.DNS, instance.Key}
		writer := u.writers[at]
		if writer == nil {
			// The servers belong to the class, so foreign data in place of the zone's is replaced.
			if writer, err = rfc2136.New(rfc2136.Config{Server: instance.DNS.String(), Key: *instance.Key, Replace: true,
				Dial: u.config.Dial}); err != nil {
				targets[i].Err = asError(instance, err)
				continue
			}
		}

		kept[at], targets[i].writer = writer, writer
	}
	u.writers = kept
	return targets, nil
}

type outcome struct {
	report delivery.Report
	drift  delivery.Drift
	note   string
	err    error
}

func (u *Updater) eachTarget(ctx context.Context, targets []target, fence delivery.Fence, do func(context.Context, target,
	delivery.Fence) outcome) ([]outcome, error) {
	return workAtAll(ctx, targets, fence, func(t target, fence delivery.Fence) outcome {
		switch {
		case t.writer != nil:
			return do(ctx, t, fence)
		case t.Err != nil:
			return outcome{err: t.Err}
		}
		return outcome{err: delivery.Errorf(delivery.ReasonServerUnreachable, "%s has no address yet", t.Name)}
	})
}

func checkPrimary(targets []target) error {
	if slices.ContainsFunc(targets, func(t target) bool { return !t.Leaving && t.Primary }) {
		return nil
	}
	return delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9: the class selects no instance with the role Primary, "+
		"and the mode Update writes to these; make one, or change bind9.clusterRef or bind9.instancesFrom")
}

// The result is never nil, because nil would keep the former rows.
func listRows(targets []target) []delivery.Server {
	rows := make([]delivery.Server, len(targets))
	for i, t := range targets {
		switch {
		case t.Leaving:
			rows[i] = t.leavingRow()
		case t.writer == nil:
			rows[i] = t.waitingRow()
		default:
			rows[i] = delivery.Server{Name: t.Name, Note: "the class has no primary that it could transfer from", At: time.Now()}
		}
	}
	return rows
}

// Deliver writes a zone to each primary, and waits for the secondaries. Confirmed is the plan's serial if every
// instance has it, and 0 otherwise.
func (u *Updater) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	targets, err := u.readTargets(plan.ServerNames())
	if err != nil {
		return delivery.Report{}, err
	}
	if err := checkPrimary(targets); err != nil {
		return delivery.Report{Servers: listRows(targets)}, err
	}

	// 1. Write to the primaries.
	from := chooseSources(targets)
	outcomes, err := u.eachTarget(ctx, targets, fence, func(ctx context.Context, t target, fence delivery.Fence) outcome {
		switch {
		case t.Leaving:
			return outcome{err: u.removeZone(ctx, t, plan, fence)}
		case !t.Primary:
			return outcome{}
		}
		report, err := t.writer.Deliver(ctx, plan, fence)
		// A new primary, or a primary with a lost disk: compare the secondaries anew.
		if lacksZone(err) {
			u.forget(plan.UID)
			if err = u.makeZone(ctx, t, plan, from.secondaries[t.Name], fence); err == nil {
				whole := plan
				whole.Changes = nil
				report, err = t.writer.Deliver(ctx, whole, fence)
			}
		} else if err == nil {
			err = u.setSecondaries(ctx, t, plan, from.secondaries[t.Name], fence)
		}
		return outcome{report: report, err: err}
	})
	if err != nil {
		return delivery.Report{}, err
	}

	// 2. Compare the secondaries with their primaries.
	if err := u.followSources(ctx, targets, outcomes, from, plan, fence); err != nil {
		return delivery.Report{}, err
	}

	// 3. Report a row for each instance.
	report := delivery.Report{Confirmed: plan.Serial, Proven: true}
	failures := map[delivery.RRsetKey]delivery.Failure{}
	for i, t := range targets {
		o := outcomes[i]
		// The zone is removed there, so the row leaves the status.
		if t.Leaving && o.err == nil {
			continue
		}
		row := delivery.Server{Name: t.Name, Serial: o.report.Confirmed, Note: o.note, Err: asError(t.Instance, o.err), At: time.Now()}
		if t.writer == nil && !t.Leaving {
			row = t.waitingRow()
		}
		report.Servers = append(report.Servers, row)
		// A single lagging server keeps the zone Pending.
		if row.Err != nil || row.Serial != plan.Serial {
			report.Confirmed = 0
		}
		report.Proven = report.Proven && (o.report.Proven || !t.Primary)
		report.Remains = report.Remains || o.report.Remains
		for _, failure := range o.report.Failed {
			failures[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}] = failure
		}
	}

	// The same RRset may fail at several primaries. Name it once, in a stable order.
	for _, key := range slices.SortedFunc(maps.Keys(failures), delivery.RRsetKey.Compare) {
		report.Failed = append(report.Failed, failures[key])
	}
	return report, nil
}

func lacksZone(err error) bool {
	var e *delivery.Error
	return errors.As(err, &e) && e.Reason == delivery.ReasonZoneNotFound
}

// asError returns an error of an instance for its row, with the instance's name in the message. nil stays nil.
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

// makeZone creates a zone at a primary with SOA and name servers, without which BIND loads no zone. Dynamic updates add
// the rest.
func (u *Updater) makeZone(ctx context.Context, t target, plan delivery.Plan, secondaries []netip.AddrPort, fence delivery.Fence) error {
	asked := protocol.CreateZone{ZoneType: protocol.Primary, UpdateKeyName: strings.TrimSuffix(t.Key.Name, ".")}
	config := &asked.ZoneConfig
	// Secondaries transfer by the key of the updates.
	config.AllowTransfer, config.AlsoNotify = []string{"key " + asked.UpdateKeyName}, withKey(secondaries, t.Key)

	// 1. The SOA, with the serial from which the primary counts on.
	var soa protocol.SOA
	var serial, refresh, retry, expire, negative uint32
	text := strings.Join(plan.SOA.Data, "")
	if _, err := fmt.Sscan(text, &soa.PrimaryNS, &soa.AdminEmail, &serial, &refresh, &retry, &expire, &negative); err != nil {
		return delivery.Errorf(delivery.ReasonServerError, "SOA %q: %w", text, err)
	}
	soa.Serial, soa.Refresh, soa.Retry, soa.Expire, soa.NegativeTTL = &serial, &refresh, &retry, &expire, &negative
	config.SOA = &soa

	// 2. The apex NS, and the addresses of name servers inside the zone.
	for set := range plan.All {
		if set.Name == plan.Zone && set.Type == rdata.NS {
			config.TTL, config.NameServers = &set.TTL, set.Data
		}
	}

	if config.TTL == nil {
		return delivery.Errorf(delivery.ReasonValidationFailed, "the zone has no name servers, and BIND loads none without; "+
			"add spec.nameServers or an NS Record at the apex")
	}
	// BIND also needs the addresses of name servers in the zone.
	for set := range plan.All {
		if (set.Type == rdata.A || set.Type == rdata.AAAA) && slices.Contains(config.NameServers, set.Name.String()) {
			for _, data := range set.Data {
				config.Records = append(config.Records, protocol.Record{Name: set.Name.String(), Type: set.Type.String(), Value: data,
					TTL: &set.TTL})
			}
		}
	}

	// 3. Create the zone, and remember the targets of the primary's NOTIFY.
	err := u.askAgent(t.Instance, func(agent *client.Client) error { return agent.Ensure(ctx, plan.Zone, asked, client.Fence(fence)) })
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notifyLists[zoneAt{plan.UID, t.Name}] = fmt.Sprint(secondaries)
	return nil
}

func (u *Updater) askAgent(instance Instance, do func(*client.Client) error) error {
	if instance.Agent == nil {
		return delivery.Errorf(delivery.ReasonServerUnreachable, "%s has no agent that could make or remove the zone", instance.Name)
	}
	err := do(instance.Agent)
	var failure *client.Error
	if errors.As(err, &failure) {
		return explainAgent(instance, failure)
	}
	return err
}

// Remove keeps a primary's zone if foreign RRsets are left.
func (u *Updater) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	u.forget(plan.UID)
	targets, err := u.readTargets(plan.ServerNames())
	if err != nil {
		return delivery.Report{}, err
	}
	outcomes, err := u.eachTarget(ctx, targets, fence, func(ctx context.Context, t target, fence delivery.Fence) outcome {
		return outcome{err: u.removeZone(ctx, t, plan, fence)}
	})
	if err != nil {
		return delivery.Report{}, err
	}
	for i, t := range targets {
		if e := asError(t.Instance, outcomes[i].err); e != nil {
			return delivery.Report{}, e
		}
	}
	return delivery.Report{}, nil
}

// removeZone removes a zone at an instance. A primary first loses the records written by Kubizone. The zone itself
// stays if records of others remain, or without an agent.
func (u *Updater) removeZone(ctx context.Context, t target, plan delivery.Plan, fence delivery.Fence) error {
	if !t.Primary {
		return u.askAgent(t.Instance, func(agent *client.Client) error { return agent.Remove(ctx, plan.Zone, client.Fence(fence)) })
	}
	_, err := t.writer.Remove(ctx, plan, fence)
	if lacksZone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	// BIND keeps the apex name servers and their addresses until the zone is removed.
	left, err := t.writer.Verify(ctx, plan)
	if err != nil {
		return err
	}
	if len(left.Foreign)+len(left.Differing) > 0 || t.Agent == nil {
		return nil
	}
	return u.askAgent(t.Instance, func(agent *client.Client) error { return agent.Remove(ctx, plan.Zone, client.Fence(fence)) })
}

// Verify compares every primary with the plan, record by record, and every secondary with the primary by serial. The
// drift of several primaries is merged.
func (u *Updater) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	targets, err := u.readTargets(plan.ServerNames())
	if err != nil {
		return delivery.Drift{}, err
	}
	if err := checkPrimary(targets); err != nil {
		return delivery.Drift{Servers: listRows(targets)}, err
	}

	from := chooseSources(targets)
	outcomes, err := u.eachTarget(ctx, targets, func(context.Context) error { return nil }, func(ctx context.Context, t target,
		_ delivery.Fence) outcome {
		switch {
		case t.Leaving:
			return outcome{}
		case !t.Primary:
			return u.compareSerials(ctx, t, from.primaries[t.Name], plan)
		}
		drift, err := t.writer.Verify(ctx, plan)
		// A primary without the zone lacks all of it. The next delivery makes the zone.
		if lacksZone(err) {
			drift, err = delivery.Drift{Missing: slices.Collect(plan.All)}, nil
		}
		return outcome{report: delivery.Report{Confirmed: plan.Serial}, drift: drift, err: err}
	})
	if err != nil {
		return delivery.Drift{}, err
	}

	var all delivery.Drift
	for i, t := range targets {
		o := outcomes[i]
		if t.Leaving {
			all.Servers = append(all.Servers, t.leavingRow())
			continue
		}
		if t.writer == nil {
			all.Servers = append(all.Servers, t.waitingRow())
			continue
		}

		e := asError(t.Instance, o.err)
		// Without an answer of a primary, missing records are not proven.
		if e != nil && t.Primary {
			return delivery.Drift{}, e
		}
		all.Servers = append(all.Servers, delivery.Server{Name: t.Name, Serial: o.report.Confirmed, Note: o.note, Err: e, At: time.Now()})
		for _, lists := range [][2]*[]delivery.RRset{{&all.Missing, &o.drift.Missing}, {&all.Differing, &o.drift.Differing},
			{&all.Unfit, &o.drift.Unfit}, {&all.Foreign, &o.drift.Foreign}} {
			*lists[0] = mergeSets(*lists[0], *lists[1])
		}
	}
	return all, nil
}

func mergeSets(x, y []delivery.RRset) []delivery.RRset {
	merged := append(x, y...)
	slices.SortStableFunc(merged, func(a, b delivery.RRset) int { return a.Key().Compare(b.Key()) })
	return slices.CompactFunc(merged, func(a, b delivery.RRset) bool { return a.Key() == b.Key() })
}

// Health reports whether every instance accepts the class's key. An unproven answer counts only if nothing worse is
// found.
func (u *Updater) Health(ctx context.Context) error {
	targets, err := u.readTargets(nil)
	if err == nil {
		err = checkPrimary(targets)
	}
	if err != nil {
		return err
	}
	outcomes, err := u.eachTarget(ctx, targets, func(context.Context) error { return nil }, func(ctx context.Context, t target,
		_ delivery.Fence) outcome {
		return outcome{err: t.writer.Health(ctx)}
	})
	if err != nil {
		return err
	}
	var unproven error
	for i, t := range targets {
		switch err := outcomes[i].err; {
		case errors.Is(err, delivery.ErrNotProven):
			unproven = cmp.Or(unproven, err)
		case err != nil:
			return asError(t.Instance, err)
		}
	}
	return unproven
}

func (*Updater) AskLast(context.Context) []string { return nil }

func (u *Updater) Abilities() delivery.Abilities {
	return delivery.Abilities{Lists: true, OwnApexNS: true}
}

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
