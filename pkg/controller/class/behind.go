// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"strconv"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/ready"
)

// sighting is a secondary ahead of a zone, as it was seen at last.
type sighting struct {
	serial serial.Serial
	at     time.Time
	// accepted is what the zone's annotation says of it.
	accepted string
}

// furthestAhead is the secondary that is furthest ahead of a zone: of those that this process itself asked, whose
// answers were signed, and that a class in force lists (S6.11). The serial in a Delivery was asked for by another
// process.
func furthestAhead(f *ready.Facts) (sighting, bool) {
	if status := f.Zone.Status.DNSSEC; status != nil && status.Phase != "" && status.Phase != v1alpha1.DNSSECSigning {
		// Its servers have the serial of its signer, which signs on. The one repair of a day is left for the end of
		// the signing, when the controller of signing asks for it.
		return sighting{}, false
	}
	furthest := sighting{accepted: f.Zone.Annotations[v1alpha1.AnnotationAcceptSerial]}
	for _, of := range f.Classes {
		if !of.Observed {
			continue
		}
		for _, server := range of.State.Servers {
			e := server.Err
			if e == nil || e.Reason != delivery.ReasonSerialBehind || e.Code != delivery.CodeSigned ||
				!server.Serial.Ahead(serial.Serial(f.Zone.Status.Serial)) {
				continue
			}
			if furthest.serial == 0 || server.Serial.Ahead(furthest.serial) {
				furthest.serial, furthest.at = server.Serial, server.At
			}
		}
	}
	return furthest, furthest.serial != 0
}

// maxRepairJump is the jump that the server makes without being told to (S6.11).
const maxRepairJump = 1 << 24

// outlook says of a zone that a secondary is ahead of how it goes on; the server decides whether it does.
func (s sighting) outlook(zone *v1alpha1.Zone, refused bool) string {
	accepted, _ := strconv.ParseUint(s.accepted, 10, 32)
	switch {
	case uint32(s.serial)-uint32(zone.Status.Serial) > maxRepairJump && accepted != uint64(s.serial):
		return fmt.Sprintf("; that is too far for the serial to follow by itself: kubectl annotate zone %s -n %s %s=%d, "+
			"or mend the secondary", zone.Name, zone.Namespace, v1alpha1.AnnotationAcceptSerial, s.serial)
	case refused:
		return "; the serial followed a secondary less than a day ago, and does so again when the day is over: mend the secondary, " +
			"or raise spec.minimumSerial"
	}
	return "; the serial goes past it"
}

// passSecondary completes the Judgement of a zone that a secondary is ahead of: its message says how that goes on. seen
// is the serial to ask the server to pass; the zero sighting where no secondary is ahead, or where the server was asked
// since the secondary was seen. asked is the sighting for which it was asked last.
func passSecondary(f *ready.Facts, j *ready.Judgement, asked sighting) (seen sighting) {
	if j.Reason != string(delivery.ReasonSerialBehind) {
		return sighting{}
	}
	seen, is := furthestAhead(f)
	if !is {
		return sighting{}
	}
	outlook := seen.outlook(f.Zone, asked.serial == seen.serial && asked.accepted == seen.accepted)
	j.Message = ready.Shorten(j.Message, max(ready.MaxZoneMessage-len(outlook), ready.MaxZoneMessage/4)) + outlook
	if asked == seen {
		return sighting{}
	}
	return seen
}
