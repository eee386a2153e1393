package system

// lifeRows collects an entity table's rows: the last one of each life counts. Where the recorder has numbered its
// entities, each row is one. Else a row continues a life at its address, or begins one. Each row looks at three lives
// at most, however many there are.
type lifeRows[K comparable, R any] struct {
	key  func(*R) K
	life func(*R) Life
	rows []R

	// keys numbers the addresses of rows without numbers of their own. By these numbers, going has the lives that had no
	// end when they were told of, the last one last; begun and ended have the row that a begin or an end was told in last.
	keys         map[K]int32
	going        [][]int32
	begun, ended map[lifeMoment]int32
}

// lifeMoment is a time at a numbered address.
type lifeMoment struct {
	key int32
	at  int64
}

func newLifeRows[K comparable, R any](key func(*R) K, life func(*R) Life) *lifeRows[K, R] {
	return &lifeRows[K, R]{key: key, life: life, keys: make(map[K]int32), begun: make(map[lifeMoment]int32), ended: make(map[lifeMoment]int32)}
}

func (l *lifeRows[K, R]) add(row *R) {
	if numbered, ok := any(row).(interface{ IsNumbered() bool }); ok && numbered.IsNumbered() {
		l.rows = append(l.rows, *row)
		return
	}
	key, ok := l.keys[l.key(row)]
	if !ok {
		key = int32(len(l.keys))
		l.keys[l.key(row)] = key
		l.going = append(l.going, nil)
	}
	i := l.continued(key, l.life(row))
	if i < 0 {
		i = int32(len(l.rows))
		l.rows = append(l.rows, *row)
	} else {
		l.rows[i] = *row
	}
	l.note(key, i)
}

// continued returns the life that a row is a later one of: of the last that goes on, and the last ones with the same
// begin and the same end, the one that was told of last; -1 where it is of none.
func (l *lifeRows[K, R]) continued(key int32, life Life) (found int32) {
	found = -1
	consider := func(i int32) {
		if i > found && continues(l.life(&l.rows[i]), life) {
			found = i
		}
	}
	going := l.going[key]
	for len(going) > 0 && l.life(&l.rows[going[len(going)-1]]).End.Valid {
		going = going[:len(going)-1]
	}
	if l.going[key] = going; len(going) > 0 {
		consider(going[len(going)-1])
	}
	if i, ok := l.begun[lifeMoment{key, life.Init.Value}]; ok && life.Init.Valid {
		consider(i)
	}
	if i, ok := l.ended[lifeMoment{key, life.End.Value}]; ok && life.End.Valid {
		consider(i)
	}
	return found
}

// note makes the life of a row be found by what it tells.
func (l *lifeRows[K, R]) note(key, i int32) {
	life := l.life(&l.rows[i])
	if life.Init.Valid {
		l.begun[lifeMoment{key, life.Init.Value}] = i
	}
	if life.End.Valid {
		l.ended[lifeMoment{key, life.End.Value}] = i
	} else if going := l.going[key]; len(going) == 0 || going[len(going)-1] != i {
		l.going[key] = append(going, i)
	}
}

func (l *lifeRows[K, R]) lives() []Life {
	lives := make([]Life, len(l.rows))
	for i := range l.rows {
		lives[i] = l.life(&l.rows[i])
	}
	return lives
}

// continues tells whether a row is a later one of the life that a former row told of.
func continues(former, row Life) bool {
	if former.Init.Valid && row.Init.Valid {
		return former.Init == row.Init
	}
	if former.End.Valid {
		return former.End == row.End
	}
	return former.overlaps(row)
}
