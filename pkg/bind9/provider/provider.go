// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	keys "kubi.zone/kubizone/pkg/dns/transfer"
)

type Instance struct {
	// Name is that of the row in a Delivery's status, "NAMESPACE/NAME".
	Name string
	DNS  netip.AddrPort
	// Key signs queries and answers; nil means unsigned.
	Key *keys.Key
	// Agent is nil in mode Catalog.
	Agent   *client.Client
	Primary bool
	// Leaving is true if the instance left the class, and may have the zone.
	Leaving bool
	// Signer is true if the instance signs zones for the others. It has only the zones in Config.Signed.
	Signer bool
	// Err is the reason why the instance cannot be queried yet; nil if only the address is missing.
	Err *delivery.Error
}

func (i Instance) waits() bool { return i.Err != nil || !i.DNS.IsValid() }

func (i Instance) waitingRow() delivery.Server {
	row := delivery.Server{Name: i.Name, Err: i.Err, At: time.Now()}
	if i.Err == nil {
		row.Note = "it has no address yet"
	}
	return row
}

func (i Instance) leavingRow() delivery.Server {
	return delivery.Server{Name: i.Name, Note: "it has left the class, and the zone is not removed there yet", At: time.Now()}
}

type Config struct {
	// Instances returns the servers of the class in the order of their rows. known names the rows of servers that may
	// have the zone. Such a server is Leaving if it runs, but the class no longer selects it.
	Instances func(known []string) ([]Instance, error)
	Signed    func(uid string) bool
	// Signing reports whether the signer begins to sign a zone, so that instances may have either version.
	Signing func(uid string) bool
	// Primaries are the sources of zones in mode Transfer. Without them the mode is Catalog (RFC 9432).
	Primaries []netip.AddrPort
	Transfer  transfer.Config
}

type Provider struct {
	config   Config
	transfer *transfer.Provider

	mu sync.Mutex
	// ensuredZones, by UID and instance, were set up by an agent since the class last changed.
	ensuredZones map[[2]string]bool
}

var _ delivery.Provider = (*Provider)(nil)

const maxInstances = 1000

const agentTime = 5 * time.Second

// New sends nothing. The error is a *delivery.Error.
func New(config Config) (*Provider, error) {
	if len(config.Primaries) == 0 && config.Transfer.Catalog.IsZero() {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9: the mode Catalog needs a catalog zone, and the mode "+
			"Transfer the address of a primary that instances fetch from")
	}
	shown, err := transfer.New(config.Transfer)
	if err != nil {
		return nil, err
	}
	return &Provider{config: config, transfer: shown, ensuredZones: map[[2]string]bool{}}, nil
}

func (p *Provider) usesAgents() bool { return len(p.config.Primaries) > 0 }

type fleet struct {
	*transfer.Provider
	instances, leaving []Instance
	waiting            []Instance
}

// readFleet sorts the class's instances: to query, waiting for an address or key, or leaving. A signer counts only for
// a signed zone.
func (p *Provider) readFleet(known []string, signed, signing bool) (*fleet, error) {
	all, err := p.config.Instances(known)
	if err != nil {
		return nil, delivery.Errorf(delivery.ReasonServerError, "bind9: the instances of the class cannot be read: %w", err)
	}

	if len(all) > maxInstances {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9: the class selects %d instances, "+
			"and a Delivery has rows for %d; select some of them by another class with a catalog of its own, and have zones name both",
			len(all), maxInstances)
	}

	f := &fleet{}
	// Servers behind a signer are current if they have the signer's serial, which is not the zone's.
	signer := ""
	if at := slices.IndexFunc(all, func(one Instance) bool { return one.Signer }); at >= 0 && (signed || signing) {
		signer = all[at].Name
	}

	var secondaries []transfer.Secondary
	for _, instance := range all {
		switch {
		// The signer has no unsigned zones, and would have a row that never becomes current.
		case instance.Signer && !signed:
		case instance.Leaving:
			f.leaving = append(f.leaving, instance)
		case instance.waits():
			f.waiting = append(f.waiting, instance)
		default:
			f.instances = append(f.instances, instance)
			one := transfer.Secondary{Name: instance.Name, Addr: instance.DNS, Key: instance.Key,
				NoCatalog: p.usesAgents() || instance.Signer, Signs: instance.Signer}
			if !instance.Signer {
				one.Signer, one.Unsigned = signer, !signed
			}
			secondaries = append(secondaries, one)
		}
	}

	f.Provider, err = p.transfer.WithSecondaries(secondaries)
	return f, err
}

func noInstances() *delivery.Error {
	return delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9: the class selects no instance; make one, "+
		"or change bind9.clusterRef or bind9.instancesFrom")
}

func (f *fleet) listLeaving() []delivery.Server {
	rows := make([]delivery.Server, len(f.leaving))
	for i, instance := range f.leaving {
		rows[i] = instance.leavingRow()
	}
	return rows
}

// Deliver makes the zone at instances that lack it (mode Transfer), and compares each instance with the plan. Confirmed
// is 0 while any instance waits or has failed.
func (p *Provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	signed := p.config.Signed(plan.UID)
	f, err := p.readFleet(plan.ServerNames(), signed, p.config.Signing(plan.UID))
	if err != nil {
		return delivery.Report{}, err
	}
	if len(f.instances)+len(f.waiting) == 0 {
		return delivery.Report{Servers: f.listLeaving()}, noInstances()
	}

	// 1. Let the agents make the zone.
	var failed map[string]*delivery.Error
	var made map[string]bool
	if p.usesAgents() {
		if failed, made, err = p.makeMissing(ctx, f, plan, fence); err != nil {
			return delivery.Report{}, err
		}
	}

	// 2. Ask all instances for their serials.
	report, err := f.Provider.Deliver(ctx, plan, fence)
	if p.config.Signed(plan.UID) != signed {
		return delivery.Report{}, newSwitchError(plan)
	}

	// 3. Complete the rows: the agent's error says more than "has no zone".
	for i, row := range report.Servers {
		if !isWithoutZone(row) {
			continue
		}
		if failure := failed[row.Name]; failure != nil {
			report.Servers[i].Err = failure
		} else if made[row.Name] {
			report.Servers[i].Err, report.Servers[i].Note = nil, "its agent has created the zone, and the transfer is not done yet"
		}
	}

	for _, instance := range f.waiting {
		report.Servers = append(report.Servers, instance.waitingRow())
	}

	for _, instance := range f.leaving {
		if failure := failed[instance.Name]; failure != nil {
			report.Servers = append(report.Servers, delivery.Server{Name: instance.Name, At: time.Now(), Err: failure})
		}
	}

	if len(f.waiting) > 0 || len(failed) > 0 {
		report.Confirmed = 0
	}
	return report, err
}

// While the servers change between the signed and the unsigned zone, the signer's serial must not count as ahead.
func newSwitchError(plan delivery.Plan) *delivery.Error {
	return delivery.Errorf(delivery.ReasonPending, "the servers are changing the primary of %s", plan.Zone)
}

func isWithoutZone(row delivery.Server) bool {
	return row.Err != nil && row.Err.Reason == delivery.ReasonZoneNotFound
}

// makeMissing returns the agents' errors in failed. The result err is the error of fence or ctx.
func (p *Provider) makeMissing(ctx context.Context, f *fleet, plan delivery.Plan, fence delivery.Fence) (failed map[string]*delivery.Error,
	made map[string]bool, err error) {
	drift, err := f.Verify(ctx, plan)
	if err != nil && !errors.Is(err, delivery.ErrCannotList) {
		return nil, nil, err
	}

	var missing []Instance
	made = map[string]bool{}
	for i, row := range drift.Servers {
		if isWithoutZone(row) || p.mayDiffer(plan, f.instances[i]) {
			missing = append(missing, f.instances[i])
			made[row.Name] = true
		}
	}

	if len(missing)+len(f.leaving) == 0 {
		return nil, nil, nil
	}

	if p.config.Transfer.Members.Name(plan.UID) != plan.Zone {
		// The fence lets the primary serve the zone. Earlier transfers are refused, and retried late.
		if err := fence(ctx); err != nil {
			return nil, nil, err
		}
	}

	// Create the zone, or correct the primaries of a zone that a former class made.
	failed, err = p.eachAgent(ctx, missing, fence, func(ctx context.Context, instance Instance, fence client.Fence) error {
		asked := protocol.CreateZone{ZoneType: protocol.Secondary, ZoneConfig: protocol.ZoneConfig{Primaries: withKey(p.config.Primaries,
			instance.Key)}}
		err := instance.Agent.Ensure(ctx, plan.Zone, asked, fence)
		// Do not ask again at each attempt until the zone is delivered.
		if err == nil && !plan.Delivered {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ensuredZones[[2]string{plan.UID, instance.Name}] = true
		}
		return err
	})

	if err != nil {
		return nil, nil, err
	}

	for row := range failed {
		delete(made, row)
	}

	// Remove the zone at leaving instances.
	left, err := p.removeFrom(ctx, f.leaving, plan.Zone, fence)
	maps.Copy(failed, left)
	return failed, made, err
}

// A changed class creates a new Provider and clears plan.Delivered, so the agent is asked once.
func (p *Provider) mayDiffer(plan delivery.Plan, instance Instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := [2]string{plan.UID, instance.Name}
	if plan.Delivered {
		delete(p.ensuredZones, at)
		return false
	}
	return !p.ensuredZones[at]
}

func withKey(primaries []netip.AddrPort, key *keys.Key) []string {
	texts := make([]string, len(primaries))
	for i, at := range primaries {
		if texts[i] = at.String(); key != nil {
			texts[i] += " key " + strings.TrimSuffix(key.Name, ".")
		}
	}
	return texts
}

func (p *Provider) removeFrom(ctx context.Context, instances []Instance, zone name.Name, fence delivery.Fence) (map[string]*delivery.Error,
	error) {
	return p.eachAgent(ctx, instances, fence, func(ctx context.Context, instance Instance, fence client.Fence) error {
		return instance.Agent.Remove(ctx, zone, fence)
	})
}

// eachAgent calls do for all instances at once, for at most agentTime, and returns the errors of agents by the row's
// name. err is the error of fence or ctx, and then nothing is known of the instances.
func (p *Provider) eachAgent(ctx context.Context, instances []Instance, fence delivery.Fence, do func(context.Context, Instance,
	client.Fence) error) (map[string]*delivery.Error, error) {
	limited, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	answers, err := workAtAll(ctx, instances, fence, func(instance Instance, fence delivery.Fence) error {
		if instance.Agent == nil {
			return &client.Error{Message: "it has no agent"}
		}
		return do(limited, instance, client.Fence(fence))
	})
	failed := map[string]*delivery.Error{}
	for i, answer := range answers {
		var failure *client.Error
		if errors.As(answer, &failure) {
			failed[instances[i].Name] = explainAgent(instances[i], failure)
		}
	}
	return failed, err
}

// workAtAll returns the error of fence or ctx. Calls of fence do not overlap.
func workAtAll[T, R any](ctx context.Context, all []T, fence delivery.Fence, work func(T, delivery.Fence) R) ([]R, error) {
	var mu sync.Mutex
	var lost error
	ask := func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		// After a lost lease no further agent may write, so the first refusal holds for all.
		if lost == nil {
			lost = fence(ctx)
		}
		return lost
	}

	results := make([]R, len(all))
	var working sync.WaitGroup
	for i, one := range all {
		// Each goroutine writes its own element.
		working.Go(func() { results[i] = work(one, ask) })
	}
	working.Wait()

	if lost != nil {
		return nil, lost
	}
	return results, ctx.Err()
}

// explainAgent turns an agent's error into the reason of a row in status. A cause found while reading the Secret keeps
// the reason.
func explainAgent(instance Instance, failure *client.Error) *delivery.Error {
	var cause *delivery.Error
	if errors.As(failure.Err, &cause) {
		return &delivery.Error{Reason: cause.Reason, Message: instance.Name + ": " + cause.Message, Err: failure.Err}
	}
	e := delivery.Errorf(delivery.ReasonServerUnreachable, "%s: %s", instance.Name, failure.Message)
	e.Err, e.RetryAfter = failure.Err, failure.RetryAfter
	if failure.Status != 0 {
		e.Code = strconv.Itoa(failure.Status)
	}
	switch {
	// A retry cannot help: the zone has a name that a bindcar refuses.
	case failure.Unsupported:
		e.Reason = delivery.ReasonValidationFailed
	case failure.Status != 0:
		e.Reason = cmp.Or(statusReasons[failure.Status], delivery.ReasonServerError)
	// The client has not asked the agent, because its rate is used up.
	case failure.RetryAfter > 0:
		e.Reason = delivery.ReasonRateLimited
	}
	return e
}

// statusReasons has the HTTP statuses of an agent with another reason than ServerError.
var statusReasons = map[int]delivery.Reason{
	http.StatusUnauthorized:    delivery.ReasonAuthenticationFailed,
	http.StatusForbidden:       delivery.ReasonAuthenticationFailed,
	http.StatusConflict:        delivery.ReasonConflict,
	http.StatusTooManyRequests: delivery.ReasonRateLimited,
}

// Remove deletes a zone at the BIND instances, through their agents, unless another Zone has the name by now. In mode
// Catalog instances follow the catalog instead, because the signer's zone of this name may belong to another Zone.
func (p *Provider) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	f, err := p.readFleet(plan.ServerNames(), p.config.Signed(plan.UID), p.config.Signing(plan.UID))
	if err != nil {
		return delivery.Report{}, err
	}
	holder := p.config.Transfer.Members.Holder(plan.Zone)
	isReused := holder != "" && holder != plan.UID
	if p.usesAgents() && !isReused {
		// Instances have a renamed zone under the former name too.
		if err := p.removeFromAll(ctx, f.listZoneHolders(), plan.Zone, fence); err != nil {
			return delivery.Report{}, err
		}
	}
	return f.Provider.Remove(ctx, plan, fence)
}

func (p *Provider) removeFromAll(ctx context.Context, instances []Instance, zone name.Name, fence delivery.Fence) error {
	failed, err := p.removeFrom(ctx, instances, zone, fence)
	if err != nil {
		return err
	}
	for _, instance := range instances {
		if failure := failed[instance.Name]; failure != nil {
			failure.Message = fmt.Sprintf("the zone is not removed everywhere: %s", failure.Message)
			return failure
		}
	}
	return nil
}

func (f *fleet) listZoneHolders() []Instance {
	all := append(f.instances, f.leaving...)
	for _, instance := range f.waiting {
		if instance.Agent != nil {
			all = append(all, instance)
		}
	}
	return all
}

// Verify compares each instance with the plan, without writing. Waiting and leaving instances get a row with a note.
func (p *Provider) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	signed := p.config.Signed(plan.UID)
	f, err := p.readFleet(plan.ServerNames(), signed, p.config.Signing(plan.UID))
	if err != nil {
		return delivery.Drift{}, err
	}
	if len(f.instances)+len(f.waiting) == 0 {
		return delivery.Drift{Servers: f.listLeaving()}, noInstances()
	}

	drift, err := f.Provider.Verify(ctx, plan)
	if p.config.Signed(plan.UID) != signed {
		return delivery.Drift{}, newSwitchError(plan)
	}

	for _, instance := range f.waiting {
		drift.Servers = append(drift.Servers, instance.waitingRow())
	}
	drift.Servers = append(drift.Servers, f.listLeaving()...)
	if len(drift.Servers) > 0 && errors.Is(err, delivery.ErrCannotList) {
		err = nil
	}
	return drift, err
}

func (p *Provider) AskLast(ctx context.Context) []string { return p.transfer.AskLast(ctx) }

// Health reports whether the class can deliver. In mode Transfer every agent must answer, because a later zone needs
// all of them.
func (p *Provider) Health(ctx context.Context) error {
	f, err := p.readFleet(nil, false, false)
	if err != nil {
		return err
	}
	if len(f.instances)+len(f.waiting) == 0 {
		return noInstances()
	}
	if p.usesAgents() {
		failed, err := p.eachAgent(ctx, f.instances, func(context.Context) error { return nil },
			func(ctx context.Context, instance Instance, _ client.Fence) error { return instance.Agent.Health(ctx) })
		if err != nil {
			return err
		}
		for _, instance := range f.instances {
			if failure := failed[instance.Name]; failure != nil {
				return failure
			}
		}
	}
	return f.Provider.Health(ctx)
}

func (p *Provider) Abilities() delivery.Abilities {
	return delivery.Abilities{Fetched: true, Claims: p.config.Transfer.Claims}
}

func (p *Provider) Close() error { return nil }
