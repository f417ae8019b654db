// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the sub-command doctor, which names the cause of a fault and tells the user what to do.
//
// Guarantees:
//
//	D1. Nothing is changed. A fact (an input of the checks) that could not be read is a WARN, never an OK.
//	D2. Every finding but OK has a next step.
//	D3. The exit code is 0 if all zones are current and nothing fails, 1 after a FAIL, else 2.
//	D4. Findings are in the order of cause and effect: the first FAIL is the CAUSE, and only its next step is printed.
//	D5. Requests are sent side by side and end within five seconds.
//	D6. Findings are a function of the facts. Only collect.go and probe.go send requests.
//
// Read first: doctor.go runs the command, judge.go has the order of the checks in cluster.go, trust.go and zones.go,
// collect.go has the facts, and probe.go asks servers.
package doctor
