// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/test/must"
)

// P4
func TestLog_isQuietUnlessAsked(t *testing.T) {
	logOf := func(verbosity int) string {
		var to bytes.Buffer
		must.Succeed(t, (&Program{verbosity: verbosity, format: logText, json: zapJSON}).setUpLog(&to))
		klog.Info("information")
		klog.V(2).Info("detail")
		klog.Warning("warning")
		klog.Error("error")
		klog.Flush()
		return to.String()
	}
	if got := logOf(0); strings.Contains(got, "information") || strings.Contains(got, "detail") ||
		strings.Count(got, "warning\n") != 1 || strings.Count(got, "error\n") != 1 {
		t.Errorf("quiet:\n%s", got)
	}
	if got := logOf(2); strings.Count(got, "information\n") != 1 || strings.Count(got, "detail\n") != 1 ||
		strings.Count(got, "warning\n") != 1 {
		t.Errorf("with -v=2:\n%s", got)
	}
}

// A server that stops logs no warning for each kind of object.
func TestLog_omitsTheEndOfWatches(t *testing.T) {
	defer klog.ClearLogger()
	for _, format := range []string{logText, logJSON} {
		var to bytes.Buffer
		must.Succeed(t, (&Program{format: format, json: zapJSON}).setUpLog(&to))
		klog.Warningf("Terminating all watchers from cacher %v", "zones.kubi.zone")
		klog.Warning("warning")
		klog.Flush()
		if text := to.String(); strings.Contains(text, "watchers") || !strings.Contains(text, "warning") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}

// Each log line is a JSON object, from any call of klog. Verbosity is as in text.
func TestLog_isJSONWhereAsked(t *testing.T) {
	defer klog.ClearLogger()
	type line struct {
		TS                 float64
		Level, Caller, Msg string
		V                  *int
		Err, Zone          string
	}
	logOf := func(verbosity int) (lines []line) {
		var to bytes.Buffer
		must.Succeed(t, (&Program{verbosity: verbosity, format: logJSON, json: zapJSON}).setUpLog(&to))
		klog.Info("information")
		klog.V(2).InfoS("detail", "zone", "example.org.")
		klog.FromContext(t.Context()).V(3).Info("further detail")
		klog.Warningf("warning %d\nof two lines", 1)
		slog.New(logr.ToSlogHandler(klog.Background())).Warn("warning of a delivery", "zone", "example.org.")
		klog.ErrorS(errors.New("broken"), "error", "zone", "example.org.")
		klog.Error("error without keys")
		klog.Flush()
		decoder := json.NewDecoder(&to)
		for decoder.More() {
			var one line
			must.Succeed(t, decoder.Decode(&one))
			if one.TS < 1e12 || !strings.Contains(one.Caller, "log_test.go:") {
				t.Errorf("%+v", one)
			}
			lines = append(lines, one)
		}
		return lines
	}
	texts := func(lines []line) (texts []string) {
		for _, one := range lines {
			texts = append(texts, one.Level+" "+one.Msg)
		}
		return texts
	}
	loud := []string{"warn warning 1\nof two lines", "warn warning of a delivery", "error error", "error error without keys"}
	quiet0 := logOf(0)
	if got := texts(quiet0); !slices.Equal(got, loud) {
		t.Errorf("quiet: %q", got)
	} else if quiet0[1].Zone != "example.org." || quiet0[2].Err != "broken" {
		t.Errorf("quiet: %+v", quiet0)
	}
	if got := texts(logOf(2)); !slices.Equal(got, append([]string{"info information", "info detail"}, loud...)) {
		t.Errorf("with -v=2: %q", got)
	}
}

// Any client can send requests that make the server log an error. The lines of each place in the code are therefore
// limited: a flood from one place neither fills the log nor hides the lines of other places (attack 107).
func TestLog_boundsTheLinesOfOnePlace(t *testing.T) {
	defer klog.ClearLogger()
	for _, format := range []string{logText, logJSON} {
		synctest.Test(t, func(t *testing.T) {
			var to bytes.Buffer
			must.Succeed(t, (&Program{verbosity: 1, format: format, json: zapJSON}).setUpLog(&to))
			printf := func(path string) { klog.ErrorS(nil, "Timeout or abort", "path", path) }
			count := func(text string) int {
				klog.Flush()
				return strings.Count(to.String(), text)
			}
			for range 5000 {
				printf("/flood")
				klog.Info("information")
			}
			klog.Error("of another place")
			flood, other, all := count("/flood"), count("of another place"), count("information")
			if flood != placeBurst || other != 1 || all != 5000 {
				t.Errorf("%s: %d lines of the place, %d of another, %d of information", format, flood, other, all)
			}
			time.Sleep(placeInterval + time.Second)
			printf("/later")
			if format == logText && count("log_test.go:") != placeBurst+5000+3 || count("/later") != 1 {
				t.Errorf("%s: nothing more is logged", format)
			}
			if format == logText && count("] 4900 lines of this place are left out\n") != 1 {
				t.Errorf("nothing says that lines are missing")
			}
		})
	}
}
