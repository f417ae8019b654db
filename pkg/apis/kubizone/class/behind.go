// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// StepFindServer ends a message of Ready about a server, without the server's name, because tenants read conditions.
// Commands for readers of Deliveries print a ServerFault instead.
const StepFindServer = "finds the server with kubectl kubizone doctor, or in status.servers of the zone's Delivery"

// ServerFault is a server that delays a zone, with its name or address and the next step, "" if unknown.
type ServerFault struct {
	Fault string `json:"fault"`
	Step  string `json:"step,omitempty"`
}

func (f ServerFault) String() string {
	if f.Step == "" {
		return f.Fault
	}
	return f.Fault + "; " + f.Step
}

// ListServerFaults returns the servers that delay a Delivery, first those that do not confirm NOTIFY.
func ListServerFaults(one *v1alpha1.Delivery) (faults []ServerFault) {
	for _, row := range one.Status.Notify {
		faults = append(faults, ServerFault{row.Message, row.Remedy})
	}
	for i := range one.Status.Servers {
		row := &one.Status.Servers[i]
		// The refused NOTIFY explains why the server is behind, so the row adds nothing.
		refusesNotify := slices.ContainsFunc(one.Status.Notify, func(n v1alpha1.DeliveryNotify) bool { return n.Server == row.Name })
		if row.State != v1alpha1.ServerCurrent && !refusesNotify {
			faults = append(faults, describeServer(one, row))
		}
	}
	return faults
}

// tlsFaults are texts for tenants, by the answer in a row of Delivery.status.notify, of servers that transfer nothing
// over TLS.
var tlsFaults = map[string]string{
	"TLSNotUsed": "it asks without TLS", "TLSNoALPN": "it does not offer the protocol dot", "TLSVersion": "it lacks TLS 1.3",
	"TLSNoCertificate":      "it sends no certificate",
	"TLSUnknownAuthority":   "no authority of the class has signed its certificate",
	"TLSCertificateExpired": "its certificate is expired",
	"TLSWrongName":          "the name in a certificate is another",
	"TLSRefusedByPeer":      "it refuses the primary's certificate",
	"TLSHandshake":          "the handshake fails",
}

// TLSFault returns the fault of a row of Delivery.status.notify, as the rest of a sentence, or "" if the row is about
// NOTIFY.
func TLSFault(row *v1alpha1.DeliveryNotify) string { return tlsFaults[row.Answer] }

// ReasonOfNotify returns the reason of Ready for a row of Delivery.status.notify.
func ReasonOfNotify(row *v1alpha1.DeliveryNotify) string {
	if TLSFault(row) != "" {
		return v1alpha1.ReasonTLSFailing
	}
	return v1alpha1.ReasonNotifyFailing
}

// isAhead compares serials by RFC 1982.
func isAhead(a, b int64) bool { return int32(uint32(a)-uint32(b)) > 0 }

// describeServer returns the fault of a server behind, failed or ahead, with the next step. For a failed server and a
// server ahead, the message has the step.
func describeServer(one *v1alpha1.Delivery, row *v1alpha1.DeliveryServer) ServerFault {
	zone := one.Spec.Zone.FQDN
	const readLog = "see its log for transfers of the zone, and check its primaries, the key, and the way to port 53 of the primary"
	switch {
	case row.State == v1alpha1.ServerFailed || row.State == v1alpha1.ServerAhead:
		return ServerFault{Fault: row.Message}
	case row.Serial == 0:
		return ServerFault{fmt.Sprintf("%s has confirmed no serial of %s", row.Name, zone), readLog}
	// For example a server whose disk was restored from an old backup.
	case isAhead(one.Status.Serial, row.Serial):
		return ServerFault{fmt.Sprintf("%s went back to serial %d, after serial %d was confirmed", row.Name, row.Serial, one.Status.Serial),
			fmt.Sprintf("open the way to its primaries, and have %s transferred anew (BIND: rndc retransfer %[1]s)", zone)}
	}
	return ServerFault{fmt.Sprintf("%s has serial %d of %s still", row.Name, row.Serial, zone), readLog}
}
