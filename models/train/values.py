"""Values for the slots of worlds: words from `words/`, and made-up names, codes
and numbers. A fifth of all values is kept for tests: which, their checksum says."""

import pathlib
import zlib

WORDS = pathlib.Path(__file__).parent / "words"
TESTED = 5  # every fifth value

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SMALL = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty".split()
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
SYLLABLES = "an bel cor dan el fen gar hol im jas kel lor mar nor os pel quin ros sal tor ur vel wen yor zan mir tal bru".split()


# What people call a thing that has a longer name, and the words of that name which they leave out.
CALLED = {"project": ("{}", "Project {}", "the {} project"), "hotel": ("{}", "the {}", "the {} hotel"), "restaurant": ("{}",)}
LEFT_OUT = set("the project hotel inn grand lodge cafe grill casa kitchen".split())
THINGS = set("item event place vehicle document device team".split())  # "the camping weekend": "the weekend"
LOOSE = set("meeting call note day night evening".split())  # what too many things are
TITLES = "Dr Mr Mrs Ms Dr.".split()


def words(name):
    return (WORDS / f"{name}.txt").read_text().splitlines()


def held_out(value):
    return zlib.crc32(value.lower().encode()) % TESTED == 0


class Values:
    """Draws values of one split ("train", "test")."""

    # Kinds with few values, or made of such, which both splits share.
    SHARED = {"day", "time", "duration", "percent", "count", "moment", "month", "year", "span", "age", "temperature", "speed", "size"}

    def __init__(self, split, random, subjects=()):
        self.test = split == "test"
        self.random = random
        self.subjects = list(subjects)
        self._lists = {}

    def __call__(self, kind):
        for _ in range(200):
            value = self._draw(kind)
            if kind in self.SHARED or held_out(value) == self.test:
                return value
        return value

    def word(self, name):
        if name not in self._lists:
            self._lists[name] = words(name)
        return self.random.choice(self._lists[name])

    def _draw(self, kind):
        made = getattr(self, "_" + kind, None)
        return made() if made else self.word(kind)

    def called(self, kind, value):
        """Another name for a value, and what both names share; the value itself if there is none."""
        parts = value.split()
        core = " ".join(x for x in parts if x.lower() not in LEFT_OUT)
        if kind in CALLED and core:
            return self.random.choice(CALLED[kind]).format(core), core
        if kind == "person" and len(parts) == 2 and parts[0] not in TITLES:
            value = parts[0] if self._coin(0.8) else parts[1]
        elif kind == "company":
            value = parts[0]
        elif kind in THINGS and len(parts) == 3 and parts[0] == "the" and parts[2] not in LOOSE:
            return f"the {parts[2]}", parts[2]
        return value, value

    def _coin(self, p=0.5):
        return self.random.random() < p

    def invented(self, low=2, high=3):
        n = self.random.randint(low, high)
        return "".join(self.random.choice(SYLLABLES) for _ in range(n)).capitalize()

    def _person(self):
        first = self.word("firstname") if self._coin(0.9) else self.invented()
        last = self.word("surname") if self._coin(0.75) else self.invented()
        shape = self.random.random()
        if shape < 0.80:
            return f"{first} {last}"
        if shape < 0.92:
            return first
        return f"{self.random.choice(TITLES)} {last}"

    def _city(self):
        return self.word("city") if self._coin(0.8) else self.invented()

    def _company(self):
        head = self.word("company_part") if self._coin(0.7) else self.invented()
        return f"{head} {self.word('company_tail')}" if self._coin(0.8) else head

    def _project(self):
        name = self.word("project_part") if self._coin(0.7) else self.invented()
        return self.random.choice(["Project {}", "{}", "the {} project"]).format(name)

    def _room(self):
        n = self.random
        return n.choice([
            lambda: f"room {n.randint(1, 499)}", lambda: f"Room {n.randint(1, 40)}{n.choice('ABCD')}",
            lambda: f"the {self.word('room_part')} room", lambda: f"conference room {n.randint(1, 30)}",
            lambda: f"{self.word('room_part')} {n.randint(1, 9)}", lambda: f"meeting room {n.choice('ABCDEFG')}",
        ])()

    def _place(self):
        shape = self.random.random()
        if shape < 0.7:
            return self.word("place")
        return self._draw(self.random.choice(["hotel", "restaurant", "room", "school"]))

    def _topic(self):
        if self.subjects and self._coin(0.4):
            return self.random.choice(self.subjects)
        return self.word("topic")

    def _item(self):
        if self._coin(0.85):
            return self.word("item")
        return f"{self.random.choice(['the old', 'the new', 'the big', 'the second'])} {self.word('item').split(' ', 1)[-1]}"

    def _hotel(self):
        name = self.word("hotel_part") if self._coin(0.7) else self.invented()
        return self.random.choice(["the {} Hotel", "Hotel {}", "the {} Inn", "the Grand {}", "{} Lodge"]).format(name)

    def _restaurant(self):
        name = self.word("restaurant_part").removeprefix("The ") if self._coin(0.7) else self.invented()
        return self.random.choice(["{}", "Cafe {}", "the {} Grill", "Casa {}", "the {} Kitchen", "{}'s"]).format(name)

    def _address(self):
        return f"{self.random.randint(1, 980)} {self.word('street')}"

    def _date(self):
        n = self.random
        return n.choice([
            lambda: f"{n.randint(1, 28)} {n.choice(MONTHS)}", lambda: f"{n.choice(MONTHS)} {n.randint(1, 28)}",
            lambda: f"the {n.randint(4, 20)}th", lambda: f"{n.choice(WEEKDAYS)}, {n.choice(MONTHS)} {n.randint(1, 28)}",
            lambda: f"{n.choice(WEEKDAYS)} the {n.randint(4, 20)}th", lambda: f"{n.randint(1, 12)}/{n.randint(1, 28)}",
        ])()

    def _day(self):
        return self.random.choice(WEEKDAYS) if self._coin(0.35) else self._date()

    def _time(self):
        n = self.random
        return n.choice([
            lambda: f"{n.randint(6, 22)}:{n.choice(['00', '15', '30', '45', '10', '20', '40', '50'])}",
            lambda: f"{n.randint(1, 12)} {n.choice(['am', 'pm'])}", lambda: f"{n.randint(1, 12)}:{n.choice(['15', '30', '45'])} {n.choice(['am', 'pm'])}",
            lambda: f"{n.choice(['half past', 'quarter past', 'quarter to'])} {n.choice(SMALL[:10])}",
            lambda: n.choice(["noon", "midday"]) if n.random() < 0.2 else f"{n.randint(1, 12)} o'clock",
        ])()

    def _amount(self):
        n = self.random
        big = n.randint(1, 99) * 10 ** n.randint(0, 3) + (n.randint(0, 9) if n.random() < 0.5 else 0)
        return n.choice(["${:,}", "{} euros", "${}", "{} dollars", "{} pounds", "${}.50"]).format(big)

    def _figure(self, most, p):
        """A small number, with the chance p in digits."""
        return str(self.random.randint(2, most)) if self._coin(p) else self.random.choice(SMALL)

    def _count(self):
        return self._figure(400, 0.65)

    def _percent(self):
        return self.random.choice(["{}%", "{} percent"]).format(self.random.randint(2, 98))

    def _duration(self):
        return f"{self._figure(90, 0.5)} {self.random.choice(['minutes', 'hours', 'days', 'weeks', 'months', 'years'])}"

    def _phone(self):
        n = self.random
        a, b = n.randint(200, 989), n.randint(100, 9999)
        return n.choice([f"555-{b:04d}", f"{a}-555-{b:04d}", f"({a}) 555-{b:04d}", f"0{a} {n.randint(100000, 999999)}"])

    def _email(self):
        return f"{self._draw('firstname').lower()}{self.random.choice(['.', '_', ''])}{self.invented().lower()}@{self.invented().lower()}.{self.random.choice(['com', 'org', 'net'])}"

    def _url(self):
        return f"{self.random.choice(['www.', 'https://', ''])}{self.invented().lower()}.{self.random.choice(['com', 'org', 'net'])}/{self.word('filename_part')}"

    def _code(self):
        n = self.random
        return n.choice([
            lambda: "".join(n.choice(LETTERS) for _ in range(3)) + str(n.randint(10, 9999)), lambda: str(n.randint(1000, 999999)),
            lambda: f"{self.invented(1, 2)}{n.randint(1, 999)}", lambda: f"{n.choice(LETTERS)}{n.randint(1, 9)}{n.choice(LETTERS)}-{n.randint(10, 999)}",
        ])()

    def _number(self):
        n = self.random
        return n.choice([
            lambda: str(n.randint(10000, 9999999)), lambda: f"{n.choice(LETTERS)}{n.choice(LETTERS)}-{n.randint(100, 99999)}",
            lambda: f"#{n.randint(100, 99999)}", lambda: f"{n.randint(10, 99)}-{n.randint(100, 9999)}",
        ])()

    def _flight(self):
        return f"{self.random.choice(LETTERS)}{self.random.choice(LETTERS)}{self.random.choice(['', ' '])}{self.random.randint(10, 9999)}"

    def _file(self):
        n = self.random
        tail = n.choice(["", f"_v{n.randint(1, 9)}", str(n.randint(1, 30)), "_final"])
        return f"{self.word('filename_part')}{tail}.{n.choice(['pdf', 'doc', 'xls', 'txt', 'zip', 'csv'])}"

    def _month(self):
        return self.random.choice(MONTHS)

    def _year(self):
        return str(self.random.randint(1968, 2031))

    def _moment(self):
        return f"{self._day()}{self.random.choice([' at ', ', ', ' '])}{self._time()}"

    def _span(self):
        n = self.random
        a, b = sorted(n.sample(range(1, 29), 2))
        first, last = n.sample(WEEKDAYS, 2)
        month = n.choice(MONTHS)
        return n.choice([f"from {a} to {b} {month}", f"{a} to {b} {month}", f"{month} {a} to {b}", f"{first} to {last}", f"from {first} to {last}"])

    def _measured(self, units):
        n = self.random
        value = n.choice([str(n.randint(2, 99)), f"{n.randint(0, 99)}.{n.randint(1, 9)}", f"{n.randint(1, 250)},000", n.choice(SMALL)])
        return f"{value} {n.choice(units)}"

    def _weight(self):
        return self._measured(["kg", "kilos", "pounds", "grams", "tonnes", "ounces"])

    def _length(self):
        return self._measured(["km", "metres", "cm", "mm", "miles", "inches", "feet"])

    def _measure(self):
        units = ["litres", "gallons", "square metres", "watts", "volts", "bar", "kWh", "amps"]
        return self.random.choice([self._weight, self._length, lambda: self._measured(units)])()

    def _size(self):
        a, b = self.random.randint(20, 300), self.random.randint(20, 300)
        return f"{a} {self.random.choice(['by', 'x'])} {b} {self.random.choice(['cm', 'mm', 'inches'])}"

    def _age(self):
        return self._figure(99, 0.8)

    def _temperature(self):
        return f"{self.random.choice(['', '-', 'minus '])}{self.random.randint(1, 240)} degrees"

    def _speed(self):
        return f"{self.random.randint(5, 200)} {self.random.choice(['km/h', 'mph', 'knots'])}"

    def _version(self):
        n = self.random
        return n.choice(["{}.{}", "{}.{}.{}", "v{}.{}", "version {}.{}"]).format(*(n.randint(0, 20) for _ in range(3)))

    def _password(self):
        n = self.random
        a, b = (self.word("passphrase") for _ in range(2))
        return n.choice([
            lambda: f"{a.capitalize()}{n.choice('!?#%&')}{b.capitalize()}{n.randint(1, 99)}", lambda: f"{a}{b}{n.randint(10, 9999)}",
            lambda: f"{a}{n.choice('._-')}{b}", lambda: f"{self.invented()}{n.choice('!?#%&')}{n.randint(10, 999)}", lambda: a,
        ])()

    def _part(self):
        n = self.random
        return f"the {self.word('thing')} {n.choice(['behind', 'under', 'above', 'next to', 'inside', 'on', 'below', 'beside'])} the {self.word('spot')}"

    def _both(self):
        return f"{self.word('item')} and {self.word('item')}"

    def _where(self):
        n = self.random
        return n.choice([
            lambda: f"{n.choice(['under', 'behind', 'next to', 'on top of', 'beside', 'below'])} the {self.word('spot')}",
            lambda: f"in the {n.choice(['top', 'bottom', 'left', 'small', 'green', 'second', 'middle', 'old'])} {self.word('hideout')}",
            lambda: f"in the {self.word('hideout')} {n.choice(['under', 'behind', 'by', 'above'])} the {self.word('spot')}",
        ])()

    def _kin(self):
        who, name = self.word("relation"), self.word("firstname")
        return self.random.choice([f"my {who} {name}", f"{name}'s {who}", f"his {who} {name}", f"her {who} {name}"])
