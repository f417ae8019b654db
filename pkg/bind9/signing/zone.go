// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type work struct {
	*Controller
	zone *v1alpha1.Zone
	fqdn name.Name
	site
	highest uint32 // the highest serial of the zone's servers
}

// syncZone observes a zone, decides the next step and takes it. The result is the time until the next sync; 0 means at
// the next change. An error for the zone's owner goes into the status.
func (c *Controller) syncZone(ctx context.Context, zone *v1alpha1.Zone) (time.Duration, error) {
	status := zone.Status.DNSSEC
	if zone.DeletionTimestamp != nil {
		return c.removeDeleted(ctx, zone)
	}
	if zone.Spec.DNSSEC == nil && isUnsignedHere(status) || zone.Status.FQDN == "" || zone.Status.Serial == 0 {
		return 0, nil
	}

	fqdn, err := name.Parse(zone.Status.FQDN)
	if err != nil {
		return 0, err
	}

	// 1. Find the signer and read the facts.
	w := &work{Controller: c, zone: zone, fqdn: fqdn}
	f := &facts{now: c.Now(), status: status}
	if zone.Spec.DNSSEC != nil {
		f.policy = zone.Spec.DNSSEC.Policy
	}

	switch err := w.findSigner(ctx, f); {
	case errors.Is(err, errUnknownMember):
		return pendingInterval, nil
	case err != nil:
		return 0, err
	}

	if w.agent != nil {
		if err := w.askFacts(ctx, f); err != nil {
			return pendingInterval, w.writeProblem(ctx, err)
		}
	} else if status != nil && status.Phase != "" {
		// A zone with keys somewhere must not change its phase without its signer.
		f.unsigned, f.signed = f.blocked, f.blocked
		return blockedInterval, w.writeProblem(ctx, errors.New(f.blocked))
	}

	// 2. Decide.
	d := decideNext(f)

	c.memory.update(zone.UID, func(m *measured) {
		if m.dsSince = (time.Time{}); d.awaitsDS && d.status.LastTransitionTime != nil {
			m.dsSince = d.status.LastTransitionTime.Time
		}
	})

	// 3. Act first: the status must not claim a failed step.
	if err := w.runAction(ctx, f, d); err != nil {
		return pendingInterval, w.writeProblem(ctx, err)
	}
	return d.requeueAfter, w.writeStatus(ctx, d.status)
}

// DS without a phase come from a client that signs elsewhere.
func isUnsignedHere(status *v1alpha1.ZoneDNSSECStatus) bool {
	return status == nil || status.Phase == "" && len(status.DS) > 0
}

// The status blocks the deletion until removeDeleted clears it.
func (c *Controller) removeDeleted(ctx context.Context, zone *v1alpha1.Zone) (time.Duration, error) {
	status := zone.Status.DNSSEC
	if status == nil || status.Phase == "" || status.Signer == nil {
		return 0, nil
	}

	classes, err := c.listClassesOf(zone)
	if err != nil || len(classes) > 0 {
		return pendingInterval, err
	}

	fqdn, err := name.Parse(status.FQDN)
	if err != nil {
		return 0, err
	}
	w := &work{Controller: c, zone: zone, fqdn: fqdn}

	server, runs, err := c.Servers.Find(status.Signer.Namespace, status.Signer.Name)
	if err != nil {
		return 0, err
	}

	if runs {
		if w.agent, err = c.Agents.ClientOf(server, c.allowsLocal(server)); err == nil {
			isOwner := func(owner string) bool { return owner == "" || owner == zone.Namespace }
			err = w.agent.RemoveIfOwned(ctx, fqdn, isOwner, w.checkUnchanged)
		}
		if err != nil {
			return pendingInterval, w.writeProblem(ctx, fmt.Errorf("the zone is not removed at the signer: %w", err))
		}
	}
	return 0, w.writeStatus(ctx, nil)
}

// allowsLocal reports whether any class of the signer's namespace allows local addresses. The zone has no class any
// more.
func (c *Controller) allowsLocal(signer apiclass.Server) bool {
	all, _ := c.Classes.Lister().List(labels.Everything())
	return slices.ContainsFunc(all, func(of *v1alpha1.DNSClass) bool {
		return of.Spec.AllowLocalAddresses && of.Spec.Bind9 != nil && of.Spec.Bind9.ClusterRef != nil &&
			of.Spec.Bind9.ClusterRef.Namespace == signer.Namespace
	})
}

// askFacts reads only the facts that the phase needs, because each costs queries at other machines.
func (w *work) askFacts(ctx context.Context, f *facts) error {
	phase := v1alpha1.DNSSECPhase("")
	if f.status != nil {
		phase = f.status.Phase
	}

	var err error
	switch phase {
	case v1alpha1.DNSSECSigning, v1alpha1.DNSSECMoving, v1alpha1.DNSSECSigned:
		if f.signing, err = w.readSigning(ctx); err != nil {
			if phase == v1alpha1.DNSSECSigned && w.memory.readTimes(w.zone.UID).expires.IsZero() {
				w.askEachServer(ctx) // without the signer, no signature is renewed
			}
			return err
		}
		// "" are keys added by hand, which the zone may use.
		f.otherKeys = f.signing.KeyOwner != "" && f.signing.KeyOwner != w.zone.Namespace
		if status := f.signing.Status; status != nil && status.UnsignedSerial != nil {
			f.current = !serial.Serial(w.zone.Status.SettledSerial).Ahead(serial.Serial(*status.UnsignedSerial))
		}
	}

	switch phase {
	case v1alpha1.DNSSECMoving, v1alpha1.DNSSECSigned, v1alpha1.DNSSECReturning:
		w.askServers(ctx, f)
	}

	switch phase {
	// The phases with a DS at the parent.
	case v1alpha1.DNSSECSigned, v1alpha1.DNSSECWithdrawing, v1alpha1.DNSSECExpiring:
		f.parent = w.askParent(ctx)
	}
	return nil
}

func (w *work) readSigning(ctx context.Context) (client.Signing, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	return w.agent.ReadSigning(ctx, w.fqdn)
}

// askServers compares the keys at the zone's servers with the signer's, and sets f.unsigned, f.signed and f.passed,
// each with the name of a server for the message.
func (w *work) askServers(ctx context.Context, f *facts) {
	keys, err := w.askKeys(ctx, w.signerDNS)
	if err != nil {
		f.unsigned, f.signed = fmt.Sprintf("%s: %v", w.signerDNS.Name, err), fmt.Sprintf("%s: %v", w.signerDNS.Name, err)
		f.passed = true // the serial to exceed is unknown, and raising is allowed once a day
		return
	}

	f.passed = !serial.Serial(keys.Serial).Ahead(serial.Serial(w.zone.Status.Serial))
	w.highest = keys.Serial

	for _, observed := range w.askEachServer(ctx) {
		// A silent server may have either version, so both directions wait.
		if observed.err != nil {
			f.unsigned, f.signed = fmt.Sprintf("%s: %v", observed.Name, observed.err), fmt.Sprintf("%s: %v", observed.Name, observed.err)
			continue
		}
		shared := 0
		for key := range keys.Keys {
			if observed.Keys[key] {
				shared++
			}
		}
		// With a DS for a key missing at a server, validation of its answers would fail.
		if shared < len(keys.Keys) {
			f.unsigned = observed.Name + " does not answer with the keys of the signer"
		}
		if shared > 0 {
			f.signed = observed.Name + " answers with keys of the signer"
		}
		if serial.Serial(observed.Serial).Ahead(serial.Serial(w.zone.Status.Serial)) {
			f.passed = false
			if serial.Serial(observed.Serial).Ahead(serial.Serial(w.highest)) {
				w.highest = observed.Serial
			}
		}
	}

	if len(keys.Keys) == 0 {
		f.unsigned = w.signerDNS.Name + " has no keys"
	}
}

// askEachServer asks all servers of the zone for their keys, and records the earliest expiry of a signature for the
// metric.
func (w *work) askEachServer(ctx context.Context) []*serverAnswer {
	all := make([]*serverAnswer, len(w.servers))
	for i, server := range w.servers {
		all[i] = &serverAnswer{Secondary: server}
	}
	askEach(all, func(one *serverAnswer) { one.ServedKeys, one.err = w.askKeys(ctx, one.Secondary) })

	var expires time.Time
	for _, observed := range all {
		if at := observed.Expires; expires.IsZero() || !at.IsZero() && at.Before(expires) {
			expires = at
		}
	}

	if !expires.IsZero() { // signatures of servers without an answer end all the same
		w.memory.update(w.zone.UID, func(m *measured) { m.expires = expires })
	}
	return all
}

// runAction takes the step of a decision at the signer, and then reports DS to named. Each write asks the fence
// checkUnchanged first.
func (w *work) runAction(ctx context.Context, f *facts, d decision) error {
	var err error
	targets, known := w.listTargets(), w.memory.forZone(w.zone.UID)
	all := strings.Join(targets, " ")
	// A new server is not in also-notify yet. After a restart the list is written once.
	if (d.action == nothing || d.action == remind) && f.signing.Present && known.targets != all {
		d.action = ensure
	}

	switch d.action {
	case ensure:
		err = w.agent.Ensure(ctx, w.fqdn, protocol.CreateZone{ZoneType: protocol.Secondary, KeyOwner: w.zone.Namespace,
			ZoneConfig: protocol.ZoneConfig{
				Primaries: []string{"list " + apiclass.HiddenPrimary}, AlsoNotify: targets, DNSSECPolicy: d.status.Policy,
			}}, w.checkUnchanged)
	case remove:
		err = w.agent.RemoveWithKeys(ctx, w.fqdn, w.checkUnchanged)
	// The API server raises the serial of the zone past this number.
	case passServers:
		d.status.PassSerial = w.serialToPass()
	case remind:
		err = known.remindOnce(f.now, func() error { return w.agent.Notify(ctx, w.fqdn) })
	}
	if err != nil {
		return err
	}

	if d.action == ensure {
		known.targets = all
	}

	for _, one := range d.reports {
		err := known.reportOnce(one, func() error { return w.agent.CheckDS(ctx, w.fqdn, one.keyTag, one.state) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *work) listTargets() []string {
	var targets []string
	for _, server := range w.servers {
		target := server.Addr.String()
		if server.Key != nil {
			target += " key " + strings.TrimSuffix(server.Key.Name, ".")
		}
		targets = append(targets, target)
	}
	return targets
}
