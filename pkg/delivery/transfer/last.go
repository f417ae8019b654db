// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"maps"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// confirmations has, for each secondary, the zone with the newest confirmed change. AskLast queries this zone. An
// earlier serial than confirmed means that the secondary has lost changes, for example by a restart from an old disk.
type confirmations struct {
	mu          sync.Mutex
	bySecondary map[string]confirmation // by name
}

type confirmation struct {
	server Secondary
	uid    string
	zone   name.Name
	serial serial.Serial // as answered, even by a signing secondary
	// confirmedAt is the last confirmation of this serial, changed the first.
	confirmedAt, changed time.Time
}

// confirmationKept is the time to keep a confirmation after the next comparison is due. Later, the secondary may have
// left the class.
const confirmationKept = 2 * time.Hour

// noteConfirmed remembers the zone for AskLast if the zone changed after the remembered zone of this secondary.
func (c *confirmations) noteConfirmed(s Secondary, plan delivery.Plan, answered serial.Serial) {
	now := confirmation{s, plan.UID, plan.Zone, answered, time.Now(), plan.Confirmed}
	// A new serial, changed just now. A mere comparison keeps the time of the first confirmation.
	if plan.Since != plan.Serial {
		now.changed = now.confirmedAt
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.bySecondary[s.Name]; last.uid == plan.UID || !last.changed.After(now.changed) {
		c.bySecondary[s.Name] = now
	}
}

func (c *confirmations) forgetZone(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.bySecondary, func(_ string, one confirmation) bool { return one.uid == uid })
}

// AskLast asks each secondary for the zone remembered by noteConfirmed, all at once. A secondary that answers an
// earlier serial, or has no such zone, is returned and forgotten until the next confirmation.
func (p *Provider) AskLast(ctx context.Context) (lost []string) {
	c := p.confirmations
	c.mu.Lock()
	kept := p.config.DriftInterval + confirmationKept

	maps.DeleteFunc(c.bySecondary, func(_ string, one confirmation) bool { return time.Since(one.confirmedAt) > kept })
	zones := maps.Clone(c.bySecondary)
	c.mu.Unlock()

	var asking sync.WaitGroup
	for _, last := range zones {
		asking.Go(func() {
			now := p.probeSOA(ctx, last.server, last.zone, packetTimeout)
			// As late as confirmed, or silent: silence is no loss.
			if now.err == nil && !last.serial.Ahead(now.serial) || now.err != nil && now.err.Reason != delivery.ReasonZoneNotFound {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			// A confirmation that came during the question is newer than the answer.
			if c.bySecondary[last.server.Name].confirmedAt.Equal(last.confirmedAt) {
				delete(c.bySecondary, last.server.Name)
				lost = append(lost, last.server.Name)
			}
		})
	}

	asking.Wait()
	return lost
}
