// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// askAgain is the time after which a refused request is repeated. The law raises a serial for a secondary once a day.
const askAgain = 10 * time.Minute

// raiseSerial raises a zone's serial if the reason of Ready is a secondary that needs this. Otherwise, outlook explains
// at the end of the message why the serial does not follow.
func (l *leader) raiseSerial(ctx context.Context, f *Facts, reason string, asked *request) (raised bool, outlook string, err error) {
	// 1. Find the serial to pass: of a signer that leaves, of a secondary ahead, or of a secondary with other data.
	needed := findSigned(f.Zone)
	switch {
	case needed.Serial != 0:
	case reason == string(delivery.ReasonSerialBehind):
		needed = findAhead(f)
	case reason == string(delivery.ReasonContentDiffers):
		var wasWhole bool
		// A further serial would bring the same data to a server that spoils them, for example by a local edit.
		if needed, wasWhole = findDifferent(f); needed.Serial == 0 && wasWhole {
			return false, "; it differs although it transferred the zone whole, so no serial follows until it is repaired", nil
		}
	}
	if needed.Serial == 0 {
		return false, "", nil
	}
	// 2. Ask the ledger, again only after askAgain if the same request was refused.
	needed.AcceptedSerial = acceptedSerial(f.Zone)
	if asked.Ahead != needed || time.Since(asked.at) >= askAgain {
		zone := law.Ref{Namespace: f.Zone.Namespace, Name: f.Zone.Name, UID: string(f.Zone.UID)}
		if raised, err = l.config.Ledger.RaiseSerial(ctx, zone, needed); err != nil || raised {
			return raised, "", err
		}
		*asked = request{needed, time.Now()}
	}
	// 3. Explain the refusal in Ready.
	l.queue.AddAfter(string(f.Zone.UID), askAgain)
	if reason != string(delivery.ReasonSerialBehind) && !needed.Differs { // status.dnssec.message says that servers come back
		return false, "", nil
	}
	return false, explainRefusal(f.Zone, needed), nil
}

// acceptedSerial returns the serial up to which the owner lets the zone's serial follow at any distance, or 0.
func acceptedSerial(zone *v1alpha1.Zone) serial.Serial {
	accepted, _ := strconv.ParseUint(zone.Annotations[v1alpha1.AnnotationAcceptSerial], 10, 32)
	return serial.Serial(accepted)
}

// findSigned returns the serial to pass at the end of signing, when servers have the signer's serials, or zero.
func findSigned(zone *v1alpha1.Zone) (past zones.Ahead) {
	if of := zone.Status.DNSSEC; of != nil && of.PassSerial != 0 && serial.Serial(of.PassSerial).Ahead(serial.Serial(zone.Status.Serial)) {
		past.Serial = serial.Serial(of.PassSerial)
	}
	return past
}

// findAhead returns the secondary with the latest serial ahead of the zone's, as proven by signed answers, or zero.
func findAhead(f *Facts) (furthest zones.Ahead) {
	// Servers have the signer's serials. The daily raise is left to findSigned.
	if isSigned(f.Zone) {
		return zones.Ahead{}
	}
	present := serial.Serial(f.Zone.Status.Serial)
	for _, server := range f.listFailing(delivery.ReasonSerialBehind) {
		if !server.AwaitsSerial || !server.Serial.Ahead(present) {
			continue
		}
		if furthest.Serial == 0 || server.Serial.Ahead(furthest.Serial) {
			furthest.Serial = server.Serial
		}
	}
	return furthest
}

// isSigned reports whether servers have, or still have, the zone with the serials of its signer.
func isSigned(zone *v1alpha1.Zone) bool {
	of := zone.Status.DNSSEC
	return of != nil && of.Phase != "" && of.Phase != v1alpha1.DNSSECSigning
}

// listFailing returns the servers of all classes in force whose last answer was a fault of the reason.
func (f *Facts) listFailing(reason delivery.Reason) (servers []delivery.Server) {
	for _, class := range f.Classes {
		for _, server := range class.State.Servers {
			if server.Err != nil && server.Err.Reason == reason {
				servers = append(servers, server)
			}
		}
	}
	return servers
}

// findDifferent returns the zone's next serial if a secondary has other data at the present serial, and has not
// transferred the zone whole since. Otherwise the serial is zero, and wasWhole reports whether one differs in spite of
// such a transfer.
func findDifferent(f *Facts) (needed zones.Ahead, wasWhole bool) {
	present := serial.Serial(f.Zone.Status.Serial)
	for _, server := range f.listFailing(delivery.ReasonContentDiffers) {
		if server.Serial != present {
			continue // other data of an earlier serial are not at fault
		}
		if server.AwaitsSerial {
			return zones.Ahead{Serial: present.Next(), Differs: true}, false
		}
		wasWhole = true
	}
	return zones.Ahead{}, wasWhole
}

// explainRefusal returns why zones.Repair has not raised the serial, with the next step.
func explainRefusal(zone *v1alpha1.Zone, needed zones.Ahead) string {
	switch {
	case needed.Differs:
		return "; the zone's serial was raised for a secondary less than a day ago, and is raised again after a day: have the secondary " +
			"transfer the zone anew, or raise spec.minimumSerial"
	// A wrong repair of this size costs a year of serials, so the owner has to accept the serial by the annotation.
	case uint32(needed.Serial)-uint32(zone.Status.Serial) > serial.MaxRepair && needed.AcceptedSerial != needed.Serial:
		return fmt.Sprintf("; that is too far ahead for the zone's serial to follow by itself: kubectl annotate zone %s -n %s %s=%d, or "+
			"repair the secondary", zone.Name, zone.Namespace, v1alpha1.AnnotationAcceptSerial, needed.Serial)
	}
	return "; the zone's serial followed a secondary less than a day ago, and follows again after a day: repair the secondary, or " +
		"raise spec.minimumSerial"
}
