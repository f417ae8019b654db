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

// sighting is a secondary's answer after which the API server must raise the zone's serial. Otherwise the secondary
// would not transfer the zone, because its serial is ahead of the zone's, or equal although its data differs.
type sighting struct {
	// serial is the serial to exceed: the secondary's, or if differs is true, the next.
	serial   serial.Serial
	differs  bool // the data, at an equal serial
	probedAt time.Time
	// accepted is the Zone's annotation AcceptSerial, by which the owner allows a raise above serial.MaxRepair; "" if
	// differs is true.
	accepted string
}

func furthestAhead(f *ready.Facts) (sighting, bool) {
	if status := f.Zone.Status.DNSSEC; status != nil && status.Phase != "" && status.Phase != v1alpha1.DNSSECSigning {
		// Servers have the signer's serials. The daily raise is left to the signing controller, for the end of signing.
		return sighting{}, false
	}
	furthest := sighting{accepted: f.Zone.Annotations[v1alpha1.AnnotationAcceptSerial]}
	for _, class := range f.Classes {
		if !class.Observed {
			continue
		}
		for _, server := range class.State.Servers {
			e := server.Err
			isTrusted := e != nil && e.Reason == delivery.ReasonSerialBehind && e.Code == delivery.CodeSigned
			if !isTrusted || !server.Serial.Ahead(serial.Serial(f.Zone.Status.Serial)) {
				continue
			}
			if furthest.serial == 0 || server.Serial.Ahead(furthest.serial) {
				furthest.serial, furthest.probedAt = server.Serial, server.At
			}
		}
	}
	return furthest, furthest.serial != 0
}

// stillDiffers is true if there are different secondaries, and all have transferred the zone whole.
func findDifferent(f *ready.Facts) (seen sighting, stillDiffers bool) {
	for _, class := range f.Classes {
		if !class.Observed {
			continue
		}
		for _, server := range class.State.Servers {
			isDifferent := server.Err != nil && server.Err.Reason == delivery.ReasonContentDiffers
			isCurrent := server.Serial == serial.Serial(f.Zone.Status.Serial)
			if !isDifferent || !isCurrent {
				continue
			}
			if server.Err.Code == delivery.CodeWhole {
				stillDiffers = true
				continue
			}
			seen = sighting{serial: server.Serial.Next(), differs: true, probedAt: server.At}
		}
	}
	return seen, stillDiffers && seen.serial == 0
}

// askAgain is the delay before other data ask for a serial again, because each minute has a comparison.
const askAgain = 10 * time.Minute

func (s sighting) describeOutlook(zone *v1alpha1.Zone, refused bool) string {
	accepted, _ := strconv.ParseUint(s.accepted, 10, 32)
	switch {
	case s.differs && refused:
		return "; the zone's serial was raised for a secondary less than a day ago, and is raised again after a day: have the secondary " +
			"transfer the zone anew, or raise spec.minimumSerial"
	case s.differs:
		return "; the zone's serial is raised, and its secondaries transfer the zone whole"
	case uint32(s.serial)-uint32(zone.Status.Serial) > serial.MaxRepair && accepted != uint64(s.serial):
		return fmt.Sprintf("; that is too far ahead for the zone's serial to follow by itself: kubectl annotate zone %s -n %s %s=%d, or "+
			"repair the secondary", zone.Name, zone.Namespace, v1alpha1.AnnotationAcceptSerial, s.serial)
	case refused:
		return "; the zone's serial followed a secondary less than a day ago, and follows again after a day: repair the secondary, or " +
			"raise spec.minimumSerial"
	}
	return "; the zone's serial is raised past it"
}

// passSecondary returns the answer of a secondary that the zone's serial should pass, and appends the outlook to the
// judgement's message. The result is zero if there is none, or if the last request to the API server, lastAsked, was
// the same.
func passSecondary(f *ready.Facts, judgement *ready.Judgement, lastAsked sighting) (seen sighting) {
	outlook := ""
	switch judgement.Reason {
	case string(delivery.ReasonSerialBehind):
		seen, _ = furthestAhead(f)
	case string(delivery.ReasonContentDiffers):
		var stillDiffers bool
		seen, stillDiffers = findDifferent(f)
		if stillDiffers {
			outlook = "; it differs although it transferred the zone whole, so no serial follows until it is repaired"
		}
	}
	if seen.serial != 0 {
		wasRefused := lastAsked.serial == seen.serial && lastAsked.accepted == seen.accepted
		outlook = seen.describeOutlook(f.Zone, wasRefused)
	}
	messageLen := max(ready.MaxZoneMessage-len(outlook), ready.MaxZoneMessage/4)
	judgement.Message = ready.Shorten(judgement.Message, messageLen) + outlook

	bothDiffer := seen.differs && lastAsked.differs && lastAsked.serial == seen.serial
	askedRecently := bothDiffer && seen.probedAt.Sub(lastAsked.probedAt) < askAgain
	if lastAsked == seen || askedRecently {
		return sighting{}
	}
	return seen
}
