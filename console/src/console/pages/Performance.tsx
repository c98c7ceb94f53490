export default function Performance() { return null; }
