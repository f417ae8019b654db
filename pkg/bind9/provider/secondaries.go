// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Primaries in mode Update count their own serials, so a secondary has a single primary, and is current if both serials
// are equal. After a change of the primary the contents are compared once, because equal serials may be a coincidence.

const (
	secondaryTime  = 2 * time.Second
	secondaryPause = 50 * time.Millisecond
	// After a lag of notifyTime, a secondary's agent starts a transfer. BIND delays a NOTIFY by five seconds, or sends
	// none if so configured.
	notifyTime = 15 * time.Second
)

type zoneAt struct{ uid, row string }

type sources struct {
	primaries   map[string]target           // by the row of the secondary
	secondaries map[string][]netip.AddrPort // by the row of the primary
}

// By rendezvous hashing, a new or removed primary moves few secondaries.
func chooseSources(targets []target) sources {
	chosen := sources{map[string]target{}, map[string][]netip.AddrPort{}}
	var primaries, secondaries []target
	for _, t := range targets {
		switch {
		// A target without a writer has no address or key yet.
		case t.Leaving || t.writer == nil:
		case t.Primary:
			primaries = append(primaries, t)
		default:
			secondaries = append(secondaries, t)
		}
	}
	if len(primaries) == 0 {
		return chosen
	}

	// Each secondary takes the primary with the highest weight.
	for _, secondary := range secondaries {
		primary := slices.MaxFunc(primaries, func(a, b target) int { return cmp.Compare(weighPair(secondary, a), weighPair(secondary, b)) })
		chosen.primaries[secondary.Name] = primary
		chosen.secondaries[primary.Name] = append(chosen.secondaries[primary.Name], secondary.DNS)
	}
	return chosen
}

func weighPair(secondary, primary target) uint64 {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s\x00%s", secondary.Name, primary.Name)
	return sum.Sum64()
}

// setSecondaries configures the secondaries that a primary notifies, if they have changed. A new process knows no list,
// and writes once.
func (u *Updater) setSecondaries(ctx context.Context, t target, plan delivery.Plan, secondaries []netip.AddrPort,
	fence delivery.Fence) error {
	u.mu.Lock()
	configured, known := u.notifyLists[zoneAt{plan.UID, t.Name}]
	u.mu.Unlock()
	if known && configured == fmt.Sprint(secondaries) || !known && len(secondaries) == 0 {
		return nil
	}
	return u.makeZone(ctx, t, plan, secondaries, fence)
}

func (u *Updater) forget(uid string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.notifyLists, func(at zoneAt, _ string) bool { return at.uid == uid })
	maps.DeleteFunc(u.provenPrimaries, func(at zoneAt, _ string) bool { return at.uid == uid })
	maps.DeleteFunc(u.behindSince, func(at zoneAt, _ time.Time) bool { return at.uid == uid })
}

// followSources brings the secondaries to the content of their primaries, and puts the outcomes into outcomes. A
// secondary whose primary lacks the serial has to wait.
func (u *Updater) followSources(ctx context.Context, targets []target, outcomes []outcome, from sources, plan delivery.Plan,
	fence delivery.Fence) error {
	written := map[string]bool{}
	for i, t := range targets {
		written[t.Name] = t.Primary && outcomes[i].err == nil && outcomes[i].report.Confirmed == plan.Serial
	}

	var secondaries []target
	var places []int
	for i, t := range targets {
		switch primary, has := from.primaries[t.Name]; {
		case t.Primary || t.Leaving || t.writer == nil:
		case !has:
			outcomes[i].note = "no primary that it could transfer from has an address and a key yet"
		case !written[primary.Name]:
			outcomes[i].note = "it transfers from " + primary.Name + ", which does not have the serial yet"
		default:
			secondaries, places = append(secondaries, t), append(places, i)
		}
	}

	followed, err := u.eachTarget(ctx, secondaries, fence, func(ctx context.Context, t target, fence delivery.Fence) outcome {
		return u.followSource(ctx, t, from.primaries[t.Name], plan, fence)
	})

	if err != nil {
		return err
	}

	for i, at := range places {
		outcomes[at] = followed[i]
	}
	return nil
}

// followSource waits, up to secondaryTime, until a secondary has the primary's content. Confirmed is the plan's serial
// then, and 0 if the secondary still lags.
func (u *Updater) followSource(ctx context.Context, t, primary target, plan delivery.Plan, fence delivery.Fence) outcome {
	at, source := zoneAt{plan.UID, t.Name}, fmt.Sprintf("%s %s", primary.Name, primary.DNS)
	u.mu.Lock()
	proven := u.provenPrimaries[at] == source
	if u.behindSince[at].IsZero() {
		u.behindSince[at] = time.Now()
	}
	overdue := time.Since(u.behindSince[at]) > u.notifyTime
	u.mu.Unlock()

	asked := false
	for deadline := time.Now().Add(secondaryTime); ; {

		now := u.readSerials(ctx, t, primary, plan)
		same := now.err == nil && now.secondary == now.primary
		// Another primary may have counted to the same serial with other records.
		if same && !proven {
			same = u.haveSameContent(ctx, t, primary, plan)
			proven = same
		}

		if same {
			u.mu.Lock()
			u.provenPrimaries[at] = source
			delete(u.behindSince, at)
			u.mu.Unlock()
			return outcome{report: delivery.Report{Confirmed: plan.Serial}}
		}

		isMissing, isAhead := lacksZone(now.err), now.secondary.Ahead(now.primary)
		if now.err != nil && !isMissing {
			return outcome{err: now.err}
		}

		// Ask the agent once: the zone is missing, the primary is another, NOTIFY did not help, or the secondary is
		// ahead of a rebuilt primary.
		if mustAsk := isMissing || !proven || overdue || isAhead; mustAsk && !asked {
			asked, proven = true, proven && !isAhead
			if err := u.makeSecondary(ctx, t, primary, plan, now.err == nil, fence); err != nil {
				return outcome{err: err}
			}
			deadline = time.Now().Add(secondaryTime)
			continue
		}

		// Not an error: a large zone takes longer, and the next attempt looks again.
		if time.Now().After(deadline) {
			return outcome{}
		}
		select {
		case <-time.After(secondaryPause):
		case <-ctx.Done():
			return outcome{}
		}
	}
}

// An existing zone is transferred whole, because the content may be another primary's.
func (u *Updater) makeSecondary(ctx context.Context, t, primary target, plan delivery.Plan, there bool, fence delivery.Fence) error {
	asked := protocol.CreateZone{ZoneType: protocol.Secondary,
		ZoneConfig: protocol.ZoneConfig{Primaries: withKey([]netip.AddrPort{primary.DNS}, primary.Key)}}
	return u.askAgent(t.Instance, func(agent *client.Client) error {
		err := agent.Ensure(ctx, plan.Zone, asked, client.Fence(fence))
		if err == nil && there {
			err = agent.Retransfer(ctx, plan.Zone, client.Fence(fence))
		}
		return err
	})
}

// err is the secondary's error, else the primary's.
type serials struct {
	secondary, primary serial.Serial
	err                error
}

// readSerials asks a secondary and the primary at the same time.
func (u *Updater) readSerials(ctx context.Context, t, primary target, plan delivery.Plan) (s serials) {
	var of error
	var both sync.WaitGroup
	both.Go(func() { s.primary, of = primary.writer.ReadSerial(ctx, plan.Zone) })
	s.secondary, s.err = t.writer.ReadSerial(ctx, plan.Zone)
	both.Wait()
	if s.err == nil && of != nil {
		s.err = delivery.Errorf(delivery.ReasonServerUnreachable, "%s cannot be compared with its primary: %w", t.Name, of)
	}
	return s
}

// haveSameContent reports whether primary and secondary have the zone as planned, and the same foreign records besides.
func (u *Updater) haveSameContent(ctx context.Context, t, primary target, plan delivery.Plan) bool {
	one, err := primary.writer.Verify(ctx, plan)
	if err != nil || !one.Empty() {
		return false
	}
	other, err := t.writer.Verify(ctx, plan)
	return err == nil && other.Empty() && slices.EqualFunc(one.Foreign, other.Foreign, func(a, b delivery.RRset) bool {
		return a.Key() == b.Key() && a.TTL == b.TTL && slices.Equal(slices.Sorted(slices.Values(a.Data)),
			slices.Sorted(slices.Values(b.Data)))
	})
}

func (u *Updater) compareSerials(ctx context.Context, t, primary target, plan delivery.Plan) outcome {
	if primary.writer == nil {
		return outcome{note: "no primary that it could transfer from has an address and a key yet"}
	}
	now := u.readSerials(ctx, t, primary, plan)
	if now.err == nil && now.secondary == now.primary {
		return outcome{report: delivery.Report{Confirmed: plan.Serial}}
	}
	return outcome{err: now.err}
}
