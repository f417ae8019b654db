// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/overview"
)

const maxRows = 10

// page is an Overview on a terminal.
type page struct{ *overview.Overview }

// printText prints the summary, the non-empty lists, and the installation if the user may read the Installation. Each
// unread resource has a line at the end.
func (o page) printText(text *output.Text) {
	o.printSummary(text)
	o.printItems(text, "NOT CURRENT", o.NotCurrent)
	o.printItems(text, "HELD", o.Held)
	o.printItems(text, "PAUSED", o.Paused)
	o.printItems(text, "WITHDRAWN", o.Withdrawn)
	o.printItems(text, "TERMINATING", o.Terminating)
	o.printItems(text, "REFUSED", o.Refused)
	o.printItems(text, "NO CLASS", o.NoClass)
	if len(o.Records) > 0 {
		rows := make([][]string, len(o.Records))
		for i := range o.Records {
			one := &o.Records[i]
			rows[i] = []string{fmt.Sprint(one.Count), one.Reason, o.AgeOf(one.Oldest.Since), one.Oldest.Object(),
				shortenMessage(text, one.Oldest.Message)}
		}
		text.Line("")
		printRows(text, []string{"RECORDS", "REASON", "OLDEST", "OBJECT", "MESSAGE"}, rows)
	}
	if o.Installation != nil {
		o.printInstallation(text)
	}
	if len(o.Unread) > 0 {
		text.Line("")
	}
	for _, one := range o.Unread {
		text.Line("?: %s not read: %s", one.Resource, one.Reason)
		// Of all reads, only the Installation is a get.
		if one.Verb == "get" && one.Forbidden {
			text.Line("   so processes, etcd, certificates and backups are not shown; ClusterRole kubizone-operator has the right")
		}
	}
}

func (o page) printSummary(text *output.Text) {
	text.Line("%s: %s", o.Verdict(), o.Summary())
	if oldest := o.OldestUnconfirmed; oldest != nil {
		text.Line("oldest unconfirmed change: %s, %s %s", o.AgeOf(oldest.Since), oldest.Kind, oldest.Object())
	}
}

func shortenMessage(text *output.Text, message string) string {
	if !text.IsWide() {
		// After the semicolon, a message has the next step, for which a narrow table lacks room.
		message, _, _ = strings.Cut(message, "; ")
	}
	return message
}

func printRows(text *output.Text, header []string, rows [][]string) {
	left := 0
	if !text.IsWide() && len(rows) > maxRows {
		rows, left = rows[:maxRows], len(rows)-maxRows
	}
	text.Table(header, rows)
	if left > 0 {
		text.Line("and %d more: -o wide has all", left)
	}
}

// printItems prints a table of items, unless empty, then the last changes and late servers of the first zones.
func (o page) printItems(text *output.Text, title string, items []overview.Item) {
	if len(items) == 0 {
		return
	}
	when := "SINCE"
	// Withdrawn objects have an end, all others a begin.
	if items[0].Until != nil {
		when = "ENDS IN"
	}
	rows := make([][]string, len(items))
	for i := range items {
		one := &items[i]
		age := ""
		switch {
		case one.Since != nil:
			age = o.AgeOf(one.Since)
		case one.Until != nil:
			age = duration.HumanDuration(max(0, one.Until.Sub(o.Time.Time)))
		}
		name := one.FQDN
		if one.View != "" {
			name += " (view " + one.View + ")"
		}
		rows[i] = []string{one.Kind, one.Object(), name, age, one.Reason, shortenMessage(text, one.Message)}
	}
	text.Line("")
	printRows(text, []string{title, "OBJECT", "NAME", when, "REASON", "MESSAGE"}, rows)
	for i := range items {
		if items[i].LastChange != "" {
			text.Line("last change of zone %s: by %s", items[i].FQDN, items[i].LastChange)
		}
	}
	for i := range items {
		for _, one := range items[i].Servers {
			text.Line("server of zone %s: %s", items[i].FQDN, one)
		}
	}
}

// printInstallation prints processes, etcd, certificates and the last backup. The first word of a line has a colour.
func (o page) printInstallation(text *output.Text) {
	s, rows := o.Installation, [][]string{}
	for _, one := range s.Processes {
		state := "ok"
		if one.Ended {
			state = "FAILS"
		}
		rows = append(rows, []string{one.Name, state, o.AgeOf(one.Started), o.AgeOf(one.Renewed), one.Replica})
	}
	text.Line("")
	text.Table([]string{"PROCESS", "STATE", "AGE", "SEEN", "REPLICA"}, rows)
	if s.Etcd != nil {
		printEtcd(text, s.Etcd)
	}
	text.Line("")
	for _, one := range s.Certificates {
		left := one.NotAfter.Sub(o.Time.Time)
		switch {
		case left <= 0:
			text.Line("error: certificate %s ended %s ago", one.Name, duration.HumanDuration(-left))
		case left < overview.EndsSoon:
			text.Line("warning: certificate %s ends in %s", one.Name, duration.HumanDuration(left))
		default:
			text.Line("ok: certificate %s ends in %s", one.Name, duration.HumanDuration(left))
		}
	}
	if s.LastBackup != nil {
		word := "ok"
		if o.Time.Sub(s.LastBackup.Time) > overview.BackupLate {
			word = "warning"
		}
		text.Line("%s: the last backup is %s old", word, o.AgeOf(s.LastBackup))
	}
	for _, one := range s.MissingPermissions {
		text.Line("error: %s", one)
	}
	for _, one := range s.Unknown {
		text.Line("?: %s: %s", one.Part, one.Reason)
	}
}

// printEtcd prints the members and alarms of etcd. A silent member has only an error.
func printEtcd(text *output.Text, etcd *v1alpha1.InstallationEtcd) {
	var rows [][]string
	for _, m := range etcd.Members {
		role := "member"
		if m.Leader {
			role = "leader"
		}
		used, data := "?", fmt.Sprintf("%d MiB in use", m.InUseBytes>>20)
		if m.QuotaBytes > 0 {
			used = fmt.Sprintf("%d%% of %d MiB", m.SizeBytes*100/m.QuotaBytes, m.QuotaBytes>>20)
		}
		state := cmp.Or(m.Error, "ok")
		// A silent member has no current numbers.
		if m.Error != "" {
			role, used, data = "", "", ""
		}
		rows = append(rows, []string{m.Endpoint, role, used, data, m.Version, state})
	}
	text.Line("")
	text.Table([]string{"ETCD", "ROLE", "SPACE", "DATA", "VERSION", "STATE"}, rows)
	for _, alarm := range etcd.Alarms {
		text.Line("error: etcd has the alarm %s (docs/operations.md, %s)", alarm, alarm)
	}
}
