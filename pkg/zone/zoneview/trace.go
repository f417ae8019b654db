// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// traceAge limits the age of a traced step, in seconds before the newest. A later delivery is not part of the trace.
const traceAge = 600

// Traces returns the W3C traceparents of the sampled steps after the serial since, up to until, oldest first. If since
// is 0 or no longer kept, the result begins with the oldest step. Steps more than traceAge older than the last are left
// out.
func (v *Set) Traces(uid string, since, until serial.Serial) (traceparents []string) {
	_, steps, err := v.stepsBetween(uid, since, until)
	if since == 0 || err != nil {
		steps = v.stepsUntil(uid, until)
	}
	for i := range steps {
		if step := &steps[i]; step.Trace != "" && step.Time >= steps[len(steps)-1].Time-traceAge {
			traceparents = append(traceparents, step.Trace)
		}
	}
	return traceparents
}

// stepsUntil returns all kept steps up to a serial, or nil if no step leads there.
func (v *Set) stepsUntil(uid string, until serial.Serial) []content.Step {
	known := v.lookUp(uid)
	if known == nil {
		return nil
	}
	for i := len(known.steps) - 1; i >= 0; i-- {
		if known.steps[i].Serial == until {
			return known.steps[:i+1]
		}
	}
	return nil
}
