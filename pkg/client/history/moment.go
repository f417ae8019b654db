// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Moment is a serial of a zone, or a time if Serial is 0.
type Moment struct {
	Serial serial.Serial
	Time   time.Time
}

var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// ParseMoment parses a serial, a UTC time, or a duration before now, such as 90m or 2d.
func ParseMoment(text string, now time.Time) (Moment, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n > 0 {
		return Moment{Serial: serial.Serial(n)}, nil
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return Moment{Time: at}, nil
		}
	}
	duration := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			duration = fmt.Sprint(24*n) + "h"
		}
	}
	if ago, err := time.ParseDuration(duration); err == nil && ago > 0 {
		return Moment{Time: now.Add(-ago)}, nil
	}
	return Moment{}, fmt.Errorf("%q is no serial, no time such as 2006-01-02T15:04:05Z, and no duration before now such as 90m, 24h or 2d",
		text)
}

func (m Moment) IsZero() bool { return m.Serial == 0 && m.Time.IsZero() }

func (m Moment) String() string {
	if m.Serial != 0 {
		return fmt.Sprint("serial ", m.Serial)
	}
	return m.Time.UTC().Format(time.RFC3339)
}

func (m Moment) IsBefore(step *v1alpha1.HistoryStep) bool {
	if m.Serial != 0 {
		return serial.Serial(step.Serial).Ahead(m.Serial)
	}
	return step.Time != nil && step.Time.After(m.Time)
}

func serialOf(n int64) serial.Serial { return serial.Serial(n) }
