package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Subject names a latency in a way that is the same in all recordings.
type Subject struct {
	Kind, Name string
}

// The kinds.
const (
	KindPath          = "path"
	KindCallback      = "callback"
	KindCommunication = "communication"
)

// maxSubjects bounds the latencies of a recording.
const maxSubjects = 1 << 16

// errTooMany is returned for a recording whose latencies nobody could compare.
var errTooMany = errors.New("it has too many different latencies")

// measuring gathers the durations of one recording.
type measuring struct {
	*recording
	durations *durations
	subjects  map[Subject]*sample
	progress  func(rows int)
}

// measure returns the percentile of each latency of a recording.
func measure(ctx context.Context, r *recording, percent float64, progress func(rows int)) (map[Subject]statistic, error) {
	m := &measuring{recording: r, durations: newDurations(), subjects: make(map[Subject]*sample), progress: progress}
	for _, read := range []func(context.Context) error{m.readCallbacks, m.readMessages, m.readPaths} {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("recording %s: %w", r.id, err)
		}
	}
	if err := r.checkFiles(); err != nil {
		return nil, fmt.Errorf("recording %s: %w", r.id, err)
	}
	of := make(map[Subject]statistic, len(m.subjects))
	for subject, s := range m.subjects {
		if statistic, ok := s.percentile(percent); ok {
			of[subject] = statistic
		}
	}
	return of, nil
}

func (m *measuring) sample(of Subject) (*sample, error) {
	s := m.subjects[of]
	if s == nil {
		if len(m.subjects) == maxSubjects {
			return nil, fmt.Errorf("%w: %w: more than %d", ErrDamaged, errTooMany, maxSubjects)
		}
		s = m.durations.begin()
		m.subjects[of] = s
	}
	return s, nil
}

// check compares how many rows there are with what the row of the recording says.
func (m *measuring) check(table string, rows, want int64) error {
	if rows != want {
		return fmt.Errorf("%w: table %s has %d rows of it, not %d: publish it again (caret-bpf publish --replace)", ErrDamaged, table, rows, want)
	}
	return nil
}

func (m *measuring) readCallbacks(ctx context.Context) error {
	samples := make(map[int32]*sample)
	_, err := scanTable(ctx, m.recording, lake.TableCallbackInfo, func(rows []infoColumns) error {
		for i := range rows {
			row := &rows[i]
			label := analyze.CallbackLabel{Node: row.Node, Kind: row.Kind, Topic: row.Topic, Period: row.Period, Symbol: row.Symbol}
			s, err := m.sample(Subject{KindCallback, label.Lasting()})
			if err != nil {
				return err
			}
			samples[row.CallbackID] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := scanTable(ctx, m.recording, lake.TableCallbackFact, func(rows []callbackColumns) error {
		for i := range rows {
			if !rows[i].Latency.Valid {
				continue
			}
			s := samples[rows[i].CallbackID]
			if s == nil {
				return fmt.Errorf("%w: table %s does not name callback %d", ErrDamaged, lake.TableCallbackInfo, rows[i].CallbackID)
			}
			m.durations.add(s, rows[i].Latency.Value)
		}
		m.progress(len(rows))
		return nil
	})
	if err != nil {
		return err
	}
	return m.check(lake.TableCallbackFact, rows, m.callbacks)
}

type infoColumns struct {
	CallbackID int32                 `column:"callback_id"`
	Node       string                `column:"node_name,null"`
	Kind       trace.CallbackKind    `column:"kind,null"`
	Topic      string                `column:"topic_name,null"`
	Period     trace.Optional[int64] `column:"period"`
	Symbol     string                `column:"symbol,null"`
}

type callbackColumns struct {
	CallbackID int32                 `column:"callback_id"`
	Latency    trace.Optional[int64] `column:"latency"`
}

type messageColumns struct {
	Topic            string                `column:"topic_name,null"`
	PublisherNode    string                `column:"publisher_node,null"`
	PublisherID      int32                 `column:"publisher_id"`
	SubscriptionNode string                `column:"subscription_node,null"`
	SubscriptionID   int32                 `column:"subscription_id"`
	Latency          trace.Optional[int64] `column:"latency"`
}

func (m *measuring) readMessages(ctx context.Context) error {
	samples := make(map[[2]int32]*sample) // by publisher and subscription: texts take longer to look up
	rows, err := scanTable(ctx, m.recording, lake.TableMessageFact, func(rows []messageColumns) error {
		for i := range rows {
			row := &rows[i]
			if !row.Latency.Valid {
				continue
			}
			ends := [2]int32{row.PublisherID, row.SubscriptionID}
			s := samples[ends]
			if s == nil {
				var err error
				if s, err = m.sample(communication(row)); err != nil {
					return err
				}
				samples[ends] = s
			}
			m.durations.add(s, row.Latency.Value)
		}
		m.progress(len(rows))
		return nil
	})
	if err != nil {
		return err
	}
	return m.check(lake.TableMessageFact, rows, m.messages)
}

func communication(row *messageColumns) Subject {
	return Subject{KindCommunication, fmt.Sprintf("%s %s → %s", row.Topic, row.PublisherNode, row.SubscriptionNode)}
}

type pathColumns struct {
	Path    string                `column:"path"`
	Latency trace.Optional[int64] `column:"latency"`
}

func (m *measuring) readPaths(ctx context.Context) error {
	_, err := scanTable(ctx, m.recording, lake.TablePathFact, func(rows []pathColumns) error {
		for i := range rows {
			if !rows[i].Latency.Valid {
				continue
			}
			s, err := m.sample(Subject{KindPath, rows[i].Path})
			if err != nil {
				return err
			}
			m.durations.add(s, rows[i].Latency.Value)
		}
		return nil
	})
	return err
}
